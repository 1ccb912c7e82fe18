"""What is to be done about a pod."""

import pytest

from tests.controller.examples import NAME, claim, pod
from webhook.controller.claim_actions import ClaimAction, decide_action, missing_classes, taken, without_classes
from webhook.controller.results import ClaimResult
from webhook.core.admission_config import AdmissionConfig
from webhook.settings import Settings

NOTHING = ClaimAction(ClaimResult.NOTHING_TO_DO)


@pytest.fixture
def config() -> AdmissionConfig:
    return Settings().admission_config()


def test_a_pod_without_its_claim_gets_one_that_it_owns(config: AdmissionConfig) -> None:
    todo = decide_action(pod(), None, config)
    assert todo.outcome is ClaimResult.CLAIM_CREATED
    assert todo.claim is not None
    metadata = todo.claim["metadata"]
    assert isinstance(metadata, dict)
    assert (metadata["namespace"], metadata["name"]) == ("models", NAME)
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Pod", "uid-1", True)
    assert "blockOwnerDeletion" not in owner
    assert todo.message == ""


def test_a_pod_that_has_its_claim_needs_nothing(config: AdmissionConfig) -> None:
    assert decide_action(pod(), claim(), config) == ClaimAction(ClaimResult.CLAIM_PRESENT)


@pytest.mark.parametrize(
    "gone",
    [
        None,
        pod(deletionTimestamp="2026-01-01T00:00:00Z"),
        pod(annotations={"llmfit.ai/claim": None}),
        pod(annotations={"llmfit.ai/model-fit": None}),
        pod(annotations={"kubernetes.io/config.mirror": "x"}),
        pod(labels={"llmfit.ai/injected": "true", "llmfit.ai/inject": "disabled"}),
        pod(annotations={"llmfit.ai/claim": "somebody-elses-database"}),
        pod(annotations={"llmfit.ai/model-fit": '{"min_ram_gb": 1, "min_vram_gb": 0}'}),
    ],
    ids=["gone", "being deleted", "no claim", "no fit", "mirror pod", "disabled", "a name that the webhook never gives", "no GPU"],
)
def test_a_pod_that_waits_for_no_claim_gets_none(gone: dict[str, object] | None, config: AdmissionConfig) -> None:
    assert decide_action(gone, None, config) == NOTHING


def test_a_pod_that_is_being_deleted_gets_no_claim_back(config: AdmissionConfig) -> None:
    """Its claim may be gone before it is."""
    assert decide_action(pod(deletionTimestamp="2026-01-01T00:00:00Z"), claim(), config) == NOTHING


@pytest.mark.parametrize(
    ("other", "whose"),
    [
        (claim("uid-2", "older"), 'it belongs to pod "older" and is left alone; this pod uses it as it is'),
        (claim(None), "it belongs to no pod and is left alone; this pod uses it as it is"),
        (claim("uid-2", "llama"), "it belongs to an earlier pod of this name and goes away with it"),
    ],
    ids=["another pod's", "nobody's", "an earlier pod's"],
)
def test_a_claim_that_is_not_the_pods_is_left_alone_and_told_about(
    other: dict[str, object], whose: str, config: AdmissionConfig
) -> None:
    todo = decide_action(pod(), other, config)
    assert todo == taken(other, pod())
    assert (todo.outcome, todo.claim, todo.reason) == (ClaimResult.CLAIM_NAME_TAKEN, None, "ClaimNameTaken")
    assert whose in todo.message
    assert todo.message.startswith(f'ResourceClaim "{NAME}": ')
    # Others use it, so it is never to be deleted.
    assert "delete" not in todo.message
    assert ("create the pod anew without the entry modelfit" in todo.message) is ("left alone" in whose)


def test_a_fit_that_cannot_be_used_is_told_about_under_the_webhooks_own_reason(config: AdmissionConfig) -> None:
    todo = decide_action(pod(annotations={"llmfit.ai/profile": "gone"}), None, config)
    assert (todo.outcome, todo.claim, todo.reason) == (ClaimResult.MODEL_FIT_UNUSABLE, None, "UnknownProfile")
    assert '"gone"' in todo.message


def test_what_a_pod_says_of_itself_never_widens_its_claim(config: AdmissionConfig) -> None:
    """Its spec is worked out anew from the fit: what else stands on the pod does not matter."""
    forged = pod(annotations={"llmfit.ai/resources": '{"gpu.memory": "1Gi", "adminAccess": true}'})
    assert decide_action(forged, None, config) == decide_action(pod(), None, config)


def test_a_planned_claim_asks_for_device_classes_by_name(config: AdmissionConfig) -> None:
    wanted = decide_action(pod(), None, config).claim
    assert wanted is not None
    assert missing_classes(wanted, ["gpu.nvidia.com"]) == []
    assert missing_classes(wanted, ["gpu.amd.com"]) == ["gpu.nvidia.com"]


def test_each_missing_class_of_the_alternatives_is_named_once() -> None:
    alternatives = [{"deviceClassName": name} for name in ("a", "b", "a", "c")]
    spec = {"devices": {"requests": [{"name": "gpu", "firstAvailable": alternatives}]}}
    assert missing_classes({"spec": spec}, ["b"]) == ["a", "c"]
    assert 'DeviceClass "a", "c": not in the cluster' in without_classes(["a", "c"])
