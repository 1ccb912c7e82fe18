"""The validating webhook on pods: valid annotations, and every part of the injection."""

import copy
from collections.abc import Callable

import pytest

from tests.core.builders import CPU_FIT, FIT, Json, admitted, container, fit, pod, validate
from webhook.core.admission.decision import Decision
from webhook.core.admission_config import AdmissionConfig
from webhook.reasons import Reason

HINT = "check that modelfit's MutatingWebhookConfiguration matches this pod, and create it again"


def test_a_pod_without_a_claim_is_denied() -> None:
    decision = validate(pod())
    assert (decision.allowed, decision.reason, decision.reason.code) == (False, Reason.NOT_INJECTED, 403)
    assert decision.message.startswith("spec.resourceClaims: no entry modelfit on a pod that needs a GPU; want ")
    assert decision.message.endswith(HINT)


def test_uninjected_pods_can_be_allowed_with_a_warning() -> None:
    decision = validate(pod(), AdmissionConfig(uninjected_pods="warn"))
    assert (decision.allowed, decision.reason, decision.message) == (True, Reason.NOT_INJECTED, "")
    (warning,) = decision.warnings
    assert warning.startswith("modelfit: spec.resourceClaims: no entry modelfit")
    assert len(warning) <= 256


def without_label(target: Json) -> None:
    del target["metadata"]["labels"]


def without_annotation(target: Json) -> None:
    del target["metadata"]["annotations"]["llmfit.ai/claim"]


def with_another_claim(target: Json) -> None:
    target["metadata"]["annotations"]["llmfit.ai/claim"] = "llama-7b-claim-0123456789"


def without_reference(target: Json) -> None:
    target["spec"]["containers"][0]["resources"]["claims"] = [{"name": "nic"}]


@pytest.mark.parametrize(
    ("damage", "path"),
    [
        (without_label, "metadata.labels[llmfit.ai/injected]"),
        (without_annotation, "metadata.annotations[llmfit.ai/claim]"),
        (with_another_claim, "metadata.annotations[llmfit.ai/claim]"),
        (without_reference, "spec.containers[0].resources.claims"),
    ],
)
def test_a_pod_that_lacks_a_part_of_the_injection_is_denied(damage: Callable[[Json], None], path: str) -> None:
    target = admitted(pod())
    assert validate(target).reason == Reason.VALID
    damage(target)
    decision = validate(target)
    assert (decision.allowed, decision.reason) == (False, Reason.NOT_INJECTED)
    assert decision.message.startswith(f"{path}: ")
    assert "; and " not in decision.message
    assert validate(target, AdmissionConfig(uninjected_pods="warn")).allowed


def test_all_missing_parts_are_reported_together() -> None:
    target = admitted(pod())
    for damage in (without_label, without_annotation, without_reference):
        damage(target)
    assert validate(target).message.count("; and ") == 2


def test_a_cpu_only_model_needs_no_claim() -> None:
    assert validate(pod(CPU_FIT)) == Decision(allowed=True, reason=Reason.VALID)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (pod("{"), Reason.INVALID_MODEL_FIT),
        (pod(nodeName="n1"), Reason.NODE_NAME_SET),
        (pod(annotations={"llmfit.ai/containers": "x"}), Reason.UNKNOWN_CONTAINER),
        (pod(containers=[container(resources={"limits": {"nvidia.com/gpu": 1}})]), Reason.DEVICE_PLUGIN_REQUEST),
        (pod(resourceClaims=[{"name": "modelfit", "resourceClaimName": "mine"}]), Reason.ALIAS_TAKEN),
    ],
)
def test_validate_denies_what_mutate_denies(target: Json, reason: Reason) -> None:
    decision = validate(target)
    assert (decision.allowed, decision.reason, decision.patch) == (False, reason, ())


def test_a_rule_violated_after_the_mutation_is_denied() -> None:
    target = admitted(pod())
    target["spec"]["nodeName"] = "n1"
    assert validate(target).reason == Reason.NODE_NAME_SET


def update(old: Json | None, new: Json) -> Decision:
    return validate(new, operation="UPDATE", old=old)


def test_an_update_that_keeps_the_fit_is_not_checked() -> None:
    broken = pod("{", nodeName="n1", annotations={"llmfit.ai/profile": "none"})
    changed = copy.deepcopy(broken)
    changed["metadata"]["labels"] = {"new": "label"}
    changed["metadata"]["annotations"] |= {"new": "annotation", "llmfit.ai/profile": "another"}
    assert update(broken, changed) == Decision(allowed=True, reason=Reason.ANNOTATION_UNCHANGED)


def test_an_update_to_an_invalid_fit_is_denied() -> None:
    decision = update(pod(), pod("{"))
    assert (decision.allowed, decision.reason) == (False, Reason.INVALID_MODEL_FIT)


def test_an_update_of_an_injected_pod_warns_that_the_claim_keeps_its_size() -> None:
    old, new = admitted(pod()), admitted(pod())
    new["metadata"]["annotations"]["llmfit.ai/model-fit"] = fit(vram_gb=9)
    decision = update(old, new)
    assert (decision.allowed, decision.reason) == (True, Reason.VALID)
    assert decision.warnings == ("modelfit: a pod's claim is fixed at creation; this change does not resize it",)


@pytest.mark.parametrize("entries", [None, [{"name": "modelfit", "resourceClaimName": "mine"}], [{"name": "nic"}]])
def test_an_update_of_an_uninjected_pod_warns_that_no_claim_can_be_added(entries: object) -> None:
    for old in (pod(), pod(None), None):
        decision = update(old, pod(fit(vram_gb=9), nodeName="n1", resourceClaims=entries))
        assert (decision.allowed, decision.reason) == (True, Reason.VALID)
        assert decision.warnings == (
            "modelfit: metadata.annotations[llmfit.ai/model-fit] does nothing here; claims cannot be added to an "
            "existing pod: delete and recreate it",
        )


def test_an_update_that_removes_the_annotation_is_allowed() -> None:
    assert update(pod(), pod(None)) == Decision(allowed=True, reason=Reason.NOT_ANNOTATED)


def test_an_update_of_a_pod_that_is_being_deleted_is_allowed() -> None:
    deleted = pod("{", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []})
    assert update(pod(FIT), deleted) == Decision(allowed=True, reason=Reason.BEING_DELETED)
