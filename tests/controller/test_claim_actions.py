"""The decision what to do about a pod."""

import pytest

from tests.controller.sample_metadata import CLAIM_NAME, claim, pod
from webhook.controller import claim_actions
from webhook.controller.claim_actions import (
    ClaimAction,
    action_for_name_conflict,
)
from webhook.controller.results import ClaimResult
from webhook.core.admission.exemptions import InjectedNamespaces
from webhook.core.admission_config import AdmissionConfig
from webhook.settings import Settings

NOTHING = ClaimAction(ClaimResult.NOTHING_TO_DO)


def decide_action(
    pod: dict[str, object] | None,
    claim: dict[str, object] | None,
    config: AdmissionConfig,
    namespaces: InjectedNamespaces = InjectedNamespaces(),  # noqa: B008
) -> ClaimAction:
    return claim_actions.decide_action(pod, claim, config, namespaces)


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
        pod(spec={"resourceClaims": []}),
        pod(spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": CLAIM_NAME}]}),
        pod(spec={"resourceClaims": [{"name": "modelfit", "resourceClaimName": "other-database"}]}),
        pod(spec={"resourceClaims": [{"name": "modelfit", "resourceClaimTemplateName": CLAIM_NAME}]}),
        pod(annotations={"llmfit.ai/model-fit": '{"min_ram_gb": 1, "min_vram_gb": 0}'}),
        pod(spec={"nodeName": "node-1"}),
        pod(annotations={"kubernetes.io/config.mirror": "hash"}),
        pod(labels={"llmfit.ai/inject": "disabled"}),
    ],
    ids=[
        "gone",
        "being deleted",
        "no entry",
        "another alias",
        "a name that the webhook never gives",
        "a template",
        "no GPU",
        "bound at creation",
        "mirror pod",
        "disabled",
    ],
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
    assert action == action_for_name_conflict(other, pod())
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


def test_the_entry_in_the_spec_names_the_claim_and_the_annotation_does_not(config: AdmissionConfig) -> None:
    forged = pod(annotations={"llmfit.ai/claim": "other-claim-0123456789"})
    assert decide_action(forged, None, config) == decide_action(pod(), None, config)
    assert decide_action(forged, claim(), config).result is ClaimResult.CLAIM_PRESENT


@pytest.mark.parametrize("existing", [None, claim("uid-2")], ids=["no claim", "the claim of another pod"])
@pytest.mark.parametrize(
    "namespaces",
    [InjectedNamespaces(excluded={"models"}), InjectedNamespaces(included={"other"}),
     InjectedNamespaces(excluded={"models"}, included={"models"})],
    ids=["excluded", "not included", "both"],
)  # fmt: skip
def test_a_pod_in_an_exempt_namespace_gets_neither_claim_nor_event(
    existing: dict[str, object] | None, namespaces: InjectedNamespaces, config: AdmissionConfig
) -> None:
    assert decide_action(pod(), existing, config, namespaces) == NOTHING


def test_a_disabled_pod_gets_no_event_about_the_claim_of_another_pod(config: AdmissionConfig) -> None:
    assert decide_action(pod(labels={"llmfit.ai/inject": "disabled"}), claim("uid-2"), config) == NOTHING


def test_a_pod_in_an_included_namespace_gets_its_claim(config: AdmissionConfig) -> None:
    namespaces = InjectedNamespaces(excluded={"kube-system"}, included={"models"})
    assert decide_action(pod(), None, config, namespaces).result is ClaimResult.CLAIM_CREATED


def test_a_count_above_the_operators_maximum_gets_no_claim() -> None:
    capped = Settings.model_validate({"maxDevicesPerPod": 4}).admission_config()
    assert decide_action(pod(annotations={"llmfit.ai/device-count": "4"}), None, capped).claim is not None
    action = decide_action(pod(annotations={"llmfit.ai/device-count": "32"}), None, capped)
    assert (action.claim, action.reason) == (None, "InvalidDeviceCount")


def test_a_labelled_copy_without_a_fit_is_reported_unless_the_claim_exists(config: AdmissionConfig) -> None:
    copy = pod(annotations={"llmfit.ai/model-fit": None})
    action = decide_action(copy, None, config)
    assert (action.result, action.claim, action.reason) == (ClaimResult.MODEL_FIT_MISSING, None, "ModelFitMissing")
    assert "--keep-annotations" in action.message
    assert decide_action(copy, claim(), config) == NOTHING
    assert (
        decide_action(pod(annotations={"llmfit.ai/model-fit": None}, spec={"nodeName": "n"}), None, config) == NOTHING
    )
