"""Decides what to do about one pod: a value, computed without I/O, that `pod_reconciler` carries out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from webhook import constants
from webhook.controller import object_metadata
from webhook.controller.results import ClaimResult
from webhook.core import claims
from webhook.core.admission import exemptions
from webhook.core.admission_config import AdmissionConfig
from webhook.errors import Denied, quote, truncate
from webhook.json_tree import get_list, get_object, get_text


@dataclass(frozen=True, slots=True)
class ClaimAction:
    """CLAIM_CREATED: create `claim` (v1). With any other result there is nothing to create; if `message` is not empty,
    emit an Event under `reason`."""

    result: ClaimResult
    claim: Mapping[str, object] | None = None
    message: str = ""
    reason: str = ""


def claim_name(pod: Mapping[str, object]) -> str | None:
    """The claim that the pod with this metadata waits for, as the webhook's annotation names it."""
    return get_text(pod, "annotations", constants.CLAIM)


def decide_action(
    pod: Mapping[str, object] | None,
    claim: Mapping[str, object] | None,
    config: AdmissionConfig,
    classes: Collection[str] | None = None,
) -> ClaimAction:
    """The action for a pod, given its metadata (None if it is gone) and that of modelfit's claim of the name that the
    pod waits for, if there is one. `classes` are the names of the existing DeviceClasses, None if unknown."""
    if pod is None or exemptions.find_exemption(pod):
        return ClaimAction(ClaimResult.NOTHING_TO_DO)
    if claim is not None:
        if object_metadata.is_owned_by(claim, pod):
            return ClaimAction(ClaimResult.CLAIM_PRESENT)
        return report_name_conflict(claim, pod)
    try:
        new_claim = claims.build_pod_claim(pod, config, classes=classes)
    except Denied as denied:
        message = truncate(f"the pod's ResourceClaim cannot be computed: {denied}")
        return ClaimAction(ClaimResult.MODEL_FIT_UNUSABLE, message=message, reason=denied.reason.value)
    return ClaimAction(ClaimResult.CLAIM_CREATED, new_claim) if new_claim else ClaimAction(ClaimResult.NOTHING_TO_DO)


def report_name_conflict(claim: Mapping[str, object], pod: Mapping[str, object]) -> ClaimAction:
    """The action if the name belongs to a claim that is not this pod's. That claim is left alone, whoever made it, and
    the scheduler gives the pod its devices."""
    reference = object_metadata.owning_pod(claim)
    owner = reference.get("name") if reference else None
    if owner == pod.get("name"):
        explanation = "it belongs to an earlier pod of this name and is removed with it; this pod then gets its own"
    else:
        explanation = (
            f"it belongs to {f'pod {quote(owner)}' if reference else 'no pod'} and is left alone; this pod uses it as"
            f" it is, whatever its own fit says; for a claim of its own, recreate the pod without the entry"
            f" {constants.ALIAS} in spec.resourceClaims"
        )
    result = ClaimResult.CLAIM_NAME_TAKEN
    message = truncate(f"ResourceClaim {quote(claim_name(pod))}: {explanation}")
    return ClaimAction(result, message=message, reason=result.value)


def missing_device_classes(claim: Mapping[str, object], existing: Collection[str]) -> list[str]:
    """The DeviceClasses that the v1 claim requests and that do not exist, each once, in order."""
    names = [
        get_text(choice, "deviceClassName")
        for request in get_list(claim, "spec", "devices", "requests")
        for choice in (get_object(request, "exactly"), *get_list(request, "firstAvailable"))
    ]
    return [name for name in dict.fromkeys(names) if name is not None and name not in existing]


def describe_missing_classes(missing: Collection[str]) -> str:
    """The Event for the pod's owner."""
    names = ", ".join(quote(name) for name in missing)
    return (
        f"DeviceClass {names}: not in the cluster; the pod's ResourceClaim was created and waits for it; install the"
        f" vendor's DRA driver, or choose another profile with the annotation {constants.PROFILE}"
    )
