"""Pods and requests that are allowed unchanged, whatever their annotations say; the summary of an injection."""

from collections.abc import Callable

import pytest

from tests.core.builders import CPU_FIT, FIT, Json, container, mutate, pod, validate
from webhook.core.admission.decision import Decision
from webhook.reasons import Reason

INVALID = pod("not json", nodeName="n1", annotations={"llmfit.ai/profile": "none", "llmfit.ai/device-count": "0"})
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
MIRROR = {"kubernetes.io/config.mirror": "hash"}


def disabled(target: Json) -> Json:
    return target | {"metadata": target["metadata"] | {"labels": {"llmfit.ai/inject": "disabled"}}}


CASES: dict[str, tuple[Json, Json, Reason]] = {
    "no annotation": (pod(None, nodeName="n1"), {}, Reason.NOT_ANNOTATED),
    "no annotations": (pod(None, metadata={"annotations": None}), {}, Reason.NOT_ANNOTATED),
    "disabled": (disabled(INVALID), {}, Reason.DISABLED),
    "mirror pod": (pod("not json", annotations=MIRROR), {}, Reason.MIRROR_POD),
    "being deleted": (pod("not json", metadata=DELETED), {}, Reason.BEING_DELETED),
    "another kind": (INVALID, {"kind": {"group": "", "version": "v1", "kind": "ConfigMap"}}, Reason.NOT_A_POD),
    "a pod of another group": (INVALID, {"kind": {"group": "x.io", "version": "v1", "kind": "Pod"}}, Reason.NOT_A_POD),
    "no kind": (INVALID, {"kind": {"group": "", "version": "", "kind": ""}}, Reason.NOT_A_POD),
    "deletion": (INVALID, {"operation": "DELETE"}, Reason.OTHER_OPERATION),
    "connect": (INVALID, {"operation": "CONNECT"}, Reason.OTHER_OPERATION),
    "no operation": (INVALID, {"operation": ""}, Reason.OTHER_OPERATION),
}
for _name in ("ephemeralcontainers", "resize", "status", "binding", "eviction", "exec"):
    _request = {"subResource": _name, "kind": {"group": "x", "version": "v1", "kind": "Y"}}
    CASES[f"subresource {_name}"] = (INVALID, _request, Reason.SUBRESOURCE)


@pytest.mark.parametrize("decide", [mutate, validate])
@pytest.mark.parametrize("name", CASES)
def test_it_is_allowed_unchanged(name: str, decide: Callable[..., Decision]) -> None:
    target, request, reason = CASES[name]
    assert decide(target, **request) == Decision(allowed=True, reason=reason)


def test_mutate_ignores_updates() -> None:
    assert mutate(INVALID, operation="UPDATE") == Decision(allowed=True, reason=Reason.OTHER_OPERATION)


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT", "UPDATE"])
def test_mutate_needs_no_object_unless_a_pod_is_created(operation: str) -> None:
    decision = mutate(pod(), operation=operation, object=None, oldObject=pod())
    assert decision == Decision(allowed=True, reason=Reason.OTHER_OPERATION)


@pytest.mark.parametrize("value", ["enabled", "Disabled", "true", "", "false"])
def test_only_the_value_disabled_exempts_a_pod(value: str) -> None:
    target = pod(metadata={"labels": {"llmfit.ai/inject": value}})
    assert mutate(target).reason == Reason.INJECTED


def test_inject_as_an_annotation_exempts_no_pod() -> None:
    assert mutate(pod(annotations={"llmfit.ai/inject": "disabled"})).reason == Reason.INJECTED


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeName": "n1"},
        {"resourceClaims": [{"name": "modelfit", "resourceClaimName": "mine"}]},
        {"containers": [container(resources={"limits": {"nvidia.com/gpu": "1"}})]},
        {"schedulerName": "volcano"},
    ],
)
def test_rules_about_gpus_do_not_apply_to_a_cpu_only_model(spec: Json) -> None:
    decision = mutate(pod(CPU_FIT, **spec))
    assert (decision.allowed, decision.reason, decision.claim) == (True, Reason.CPU_ONLY, None)
    assert len(decision.warnings) == 1


def test_the_first_warning_summarizes_the_injection() -> None:
    decision = mutate(pod())
    assert decision.warnings == (
        'modelfit: claim llama-7b-claim-58989f2cda for "server": gpu.nvidia.com (gpu.memory 8Gi); memory request 12Gi',
    )
    assert mutate(pod(CPU_FIT)).warnings == ("modelfit: no GPU is needed, so no claim is made; memory request 4Gi",)


def test_the_summary_has_the_context_length_of_the_fit() -> None:
    text = '{"memory_required_gb": 26, "run_mode": "GPU", "effective_context_length": 262144}'
    assert "(gpu.memory 26Gi, for a context of 262144 tokens)" in mutate(pod(text)).warnings[0]


def test_warnings_of_the_fit_follow_the_summary() -> None:
    first, second = mutate(pod('{"min_vram_gb": null, "min_ram_gb": 8}')).warnings
    assert first.startswith("modelfit: claim model-claim-")
    assert second.startswith("min_vram_gb is null")


def test_the_claim_of_an_unnamed_pod_is_named_after_the_review() -> None:
    target = pod(FIT, metadata={"name": None, "generateName": "a" * 58})
    assert mutate(target).claim == "llama-7b-claim-58989f2cda"


@pytest.mark.parametrize("label", ["Disabled", "false", "disable", ""])
def test_another_value_of_the_label_inject_is_warned_about(label: str) -> None:
    decision = mutate(pod(metadata={"labels": {"llmfit.ai/inject": label}}))
    assert decision.reason == Reason.INJECTED
    assert any("the label llmfit.ai/inject is" in warning for warning in decision.warnings)


def test_inject_as_an_annotation_is_warned_about() -> None:
    decision = mutate(pod(annotations={"llmfit.ai/inject": "disabled"}))
    assert decision.reason == Reason.INJECTED
    assert any("has no effect as an annotation" in warning for warning in decision.warnings)


def test_the_value_enabled_of_the_label_is_not_warned_about() -> None:
    (warning,) = mutate(pod(metadata={"labels": {"llmfit.ai/inject": "enabled"}})).warnings
    assert warning.startswith("modelfit: claim ")
