"""What is answered without a patch, whatever else is wrong with it."""

import pytest

from tests.core.builders import CPU_FIT, FIT, Json, container, mutate, pod, validate
from webhook.core.admission.decision import Decision
from webhook.reasons import Reason

BAD = pod("not json", nodeName="n1", annotations={"llmfit.ai/profile": "none", "llmfit.ai/device-count": "0"})
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
MIRROR = {"kubernetes.io/config.mirror": "hash"}


def disabled(target: Json) -> Json:
    return target | {"metadata": target["metadata"] | {"labels": {"llmfit.ai/inject": "disabled"}}}


CASES: dict[str, tuple[Json, Json, Reason]] = {
    "no annotation": (pod(None, nodeName="n1"), {}, Reason.NOT_ANNOTATED),
    "no annotations": (pod(None, metadata={"annotations": None}), {}, Reason.NOT_ANNOTATED),
    "disabled": (disabled(BAD), {}, Reason.DISABLED),
    "mirror pod": (pod("not json", annotations=MIRROR), {}, Reason.MIRROR_POD),
    "being deleted": (pod("not json", metadata=DELETED), {}, Reason.BEING_DELETED),
    "another kind": (BAD, {"kind": {"group": "", "version": "v1", "kind": "ConfigMap"}}, Reason.NOT_A_POD),
    "a pod of another group": (BAD, {"kind": {"group": "x.io", "version": "v1", "kind": "Pod"}}, Reason.NOT_A_POD),
    "no kind": (BAD, {"kind": {"group": "", "version": "", "kind": ""}}, Reason.NOT_A_POD),
    "deletion": (BAD, {"operation": "DELETE"}, Reason.NOT_A_CREATE),
    "connect": (BAD, {"operation": "CONNECT"}, Reason.NOT_A_CREATE),
    "no operation": (BAD, {"operation": ""}, Reason.NOT_A_CREATE),
}
for _name in ("ephemeralcontainers", "resize", "status", "binding", "eviction", "exec"):
    _request = {"subResource": _name, "kind": {"group": "x", "version": "v1", "kind": "Y"}}
    CASES[f"subresource {_name}"] = (BAD, _request, Reason.SUBRESOURCE)


@pytest.mark.parametrize("name", CASES)
def test_the_mutating_webhook_leaves_it_as_it_is(name: str) -> None:
    target, request, reason = CASES[name]
    assert mutate(target, **request) == Decision(allowed=True, reason=reason)


@pytest.mark.parametrize("name", CASES)
def test_the_validating_webhook_leaves_it_alone_too(name: str) -> None:
    target, request, reason = CASES[name]
    assert validate(target, **request) == Decision(allowed=True, reason=reason)


def test_the_mutating_webhook_looks_at_no_update() -> None:
    assert mutate(BAD, operation="UPDATE") == Decision(allowed=True, reason=Reason.NOT_A_CREATE)


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT", "UPDATE"])
def test_without_an_object_there_is_nothing_to_look_at(operation: str) -> None:
    decision = mutate(pod(), operation=operation, object=None, oldObject=pod())
    assert decision == Decision(allowed=True, reason=Reason.NOT_A_CREATE)


@pytest.mark.parametrize("value", ["enabled", "Disabled", "true", "", "false"])
def test_only_the_one_label_value_disables(value: str) -> None:
    target = pod(metadata={"labels": {"llmfit.ai/inject": value}})
    assert mutate(target).reason == Reason.INJECTED


def test_a_label_of_the_same_name_among_the_annotations_disables_nothing() -> None:
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
def test_a_model_that_needs_no_gpu_breaks_no_rule_about_gpus(spec: Json) -> None:
    decision = mutate(pod(CPU_FIT, **spec))
    assert (decision.allowed, decision.reason, decision.claim) == (True, Reason.CPU_ONLY, None)
    assert len(decision.warnings) == 1


def test_an_injection_says_what_was_done() -> None:
    decision = mutate(pod())
    assert decision.warnings == (
        'modelfit: claim llama-7b-claim-58989f2cda for "server": gpu.nvidia.com (gpu.memory 8Gi); memory request 12Gi',
    )
    assert mutate(pod(CPU_FIT)).warnings == ("modelfit: no GPU is needed, so no claim is made; memory request 4Gi",)


def test_the_context_that_the_figures_are_for_is_said() -> None:
    text = '{"memory_required_gb": 26, "run_mode": "GPU", "effective_context_length": 262144}'
    assert "(gpu.memory 26Gi, for a context of 262144 tokens)" in mutate(pod(text)).warnings[0]


def test_the_fits_warnings_come_with_the_injections() -> None:
    first, second = mutate(pod('{"min_vram_gb": null, "min_ram_gb": 8}')).warnings
    assert first.startswith("modelfit: claim model-claim-")
    assert second.startswith("min_vram_gb is null")


def test_pods_of_a_controller_are_named_by_their_review_alone() -> None:
    target = pod(FIT, metadata={"name": None, "generateName": "a" * 58})
    assert mutate(target).claim == "llama-7b-claim-58989f2cda"


@pytest.mark.parametrize("label", ["Disabled", "false", "disable", ""])
def test_a_label_that_only_resembles_disabled_is_said_to_do_nothing(label: str) -> None:
    decision = mutate(pod(metadata={"labels": {"llmfit.ai/inject": label}}))
    assert decision.reason == Reason.INJECTED
    assert any("the label llmfit.ai/inject is" in warning for warning in decision.warnings)


def test_a_disabled_annotation_is_said_to_do_nothing() -> None:
    decision = mutate(pod(annotations={"llmfit.ai/inject": "disabled"}))
    assert decision.reason == Reason.INJECTED
    assert any("has no effect as an annotation" in warning for warning in decision.warnings)


def test_the_label_enabled_is_taken_as_meant() -> None:
    (warning,) = mutate(pod(metadata={"labels": {"llmfit.ai/inject": "enabled"}})).warnings
    assert warning.startswith("modelfit: claim ")
