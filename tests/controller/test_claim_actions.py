"""The decision what to do about a pod."""

import pytest

from tests.controller.sample_metadata import CLAIM_NAME, claim, pod
from webhook.controller.claim_actions import (
    ClaimAction,
    decide_action,
    describe_missing_classes,
    missing_device_classes,
    report_name_conflict,
)
from webhook.controller.results import ClaimResult
from webhook.core.admission_config import AdmissionConfig
from webhook.settings import Settings

NOTHING = ClaimAction(ClaimResult.NOTHING_TO_DO)


@pytest.fixture
def config() -> AdmissionConfig:
    return Settings().admission_config()


def test_a_pod_without_its_claim_gets_one_that_it_owns(config: AdmissionConfig) -> None:
    action = decide_action(pod(), None, config)
    assert action.result is ClaimResult.CLAIM_CREATED
    assert action.claim is not None
    metadata = action.claim["metadata"]
    assert isinstance(metadata, dict)
    assert (metadata["namespace"], metadata["name"]) == ("models", CLAIM_NAME)
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Pod", "uid-1", True)
    assert "blockOwnerDeletion" not in owner
    assert action.message == ""


def test_a_pod_with_its_claim_needs_no_action(config: AdmissionConfig) -> None:
    assert decide_action(pod(), claim(), config) == ClaimAction(ClaimResult.CLAIM_PRESENT)


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        pod(deletionTimestamp="2026-01-01T00:00:00Z"),
        pod(annotations={"llmfit.ai/claim": None}),
        pod(annotations={"llmfit.ai/model-fit": None}),
        pod(annotations={"llmfit.ai/claim": "other-database"}),
        pod(annotations={"llmfit.ai/model-fit": '{"min_ram_gb": 1, "min_vram_gb": 0}'}),
    ],
    ids=["gone", "being deleted", "no claim", "no fit", "a name that the webhook never gives", "no GPU"],
)
def test_a_pod_that_waits_for_no_claim_gets_none(metadata: dict[str, object] | None, config: AdmissionConfig) -> None:
    assert decide_action(metadata, None, config) == NOTHING


def test_a_pod_that_is_being_deleted_does_not_get_its_claim_back(config: AdmissionConfig) -> None:
    """Its claim may be deleted before it is."""
    assert decide_action(pod(deletionTimestamp="2026-01-01T00:00:00Z"), claim(), config) == NOTHING


@pytest.mark.parametrize(
    ("other", "explanation"),
    [
        (claim("uid-2", "older"), 'it belongs to pod "older" and is left alone; this pod uses it as it is'),
        (claim(None), "it belongs to no pod and is left alone; this pod uses it as it is"),
        (claim("uid-2", "llama"), "it belongs to an earlier pod of this name and is removed with it"),
    ],
    ids=["of another pod", "without an owner", "of an earlier pod"],
)
def test_a_claim_of_another_owner_is_left_alone_and_reported(
    other: dict[str, object], explanation: str, config: AdmissionConfig
) -> None:
    action = decide_action(pod(), other, config)
    assert action == report_name_conflict(other, pod())
    assert (action.result, action.claim, action.reason) == (ClaimResult.CLAIM_NAME_TAKEN, None, "ClaimNameTaken")
    assert explanation in action.message
    assert action.message.startswith(f'ResourceClaim "{CLAIM_NAME}": ')
    # Other pods use it: no advice to delete it.
    assert "delete" not in action.message
    assert ("recreate the pod without the entry modelfit" in action.message) is ("left alone" in explanation)


def test_an_unusable_fit_is_reported_with_the_reason_of_the_webhook(config: AdmissionConfig) -> None:
    action = decide_action(pod(annotations={"llmfit.ai/profile": "gone"}), None, config)
    assert (action.result, action.claim, action.reason) == (ClaimResult.MODEL_FIT_UNUSABLE, None, "UnknownProfile")
    assert '"gone"' in action.message


def test_a_forged_annotation_never_widens_the_claim(config: AdmissionConfig) -> None:
    """The claim is computed from the fit alone."""
    forged = pod(annotations={"llmfit.ai/resources": '{"gpu.memory": "1Gi", "adminAccess": true}'})
    assert decide_action(forged, None, config) == decide_action(pod(), None, config)


def test_the_device_classes_of_a_new_claim_that_do_not_exist_are_missing(config: AdmissionConfig) -> None:
    new_claim = decide_action(pod(), None, config).claim
    assert new_claim is not None
    assert missing_device_classes(new_claim, ["gpu.nvidia.com"]) == []
    assert missing_device_classes(new_claim, ["gpu.amd.com"]) == ["gpu.nvidia.com"]


def test_each_missing_class_of_the_alternatives_is_named_once() -> None:
    alternatives = [{"deviceClassName": name} for name in ("a", "b", "a", "c")]
    spec = {"devices": {"requests": [{"name": "gpu", "firstAvailable": alternatives}]}}
    assert missing_device_classes({"spec": spec}, ["b"]) == ["a", "c"]
    assert 'DeviceClass "a", "c": not in the cluster' in describe_missing_classes(["a", "c"])
