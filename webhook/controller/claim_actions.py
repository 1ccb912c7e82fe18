"""What is to be done about one pod: a value, worked out without I/O, which `keeper` carries out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from webhook import constants
from webhook.controller import object_metadata
from webhook.controller.results import ClaimResult
from webhook.core import claims
from webhook.core.admission import exemptions
from webhook.core.admission_config import AdmissionConfig
from webhook.errors import Denied, quote, truncate


@dataclass(frozen=True, slots=True)
class ClaimAction:
    """CLAIM_CREATED: `claim` (v1) is to be created. Any other outcome stands as it is; where `message` is not empty,
    the pod's owner is to be told, under `reason`."""

    outcome: ClaimResult
    claim: Mapping[str, object] | None = None
    message: str = ""
    reason: str = ""


def claim_name(pod: Mapping[str, object]) -> str | None:
    """The claim that the pod with this metadata waits for, by the webhook's annotation."""
    return object_metadata.annotation(pod, constants.CLAIM)


def decide_action(
    pod: Mapping[str, object] | None,
    claim: Mapping[str, object] | None,
    config: AdmissionConfig,
    classes: Collection[str] | None = None,
) -> ClaimAction:
    """The plan for the pod with this metadata (None: it is gone) and the claim of ours under the name that it waits
    for, if there is one. `classes` are the DeviceClasses that exist, None where that is not known."""
    if pod is None or exemptions.find_exemption(pod):
        return ClaimAction(ClaimResult.NOTHING_TO_DO)
    if claim is not None:
        return ClaimAction(ClaimResult.CLAIM_PRESENT) if object_metadata.owned_by(claim, pod) else taken(claim, pod)
    try:
        wanted = claims.build_pod_claim(pod, config, classes=classes)
    except Denied as refusal:
        message = truncate(f"{ClaimResult.MODEL_FIT_UNUSABLE.sentence}: {refusal}")
        return ClaimAction(ClaimResult.MODEL_FIT_UNUSABLE, message=message, reason=refusal.reason.value)
    return ClaimAction(ClaimResult.CLAIM_CREATED, wanted) if wanted else ClaimAction(ClaimResult.NOTHING_TO_DO)


def taken(claim: Mapping[str, object], pod: Mapping[str, object]) -> ClaimAction:
    """The plan where the name belongs to a claim that is not this pod's. It is left alone, whoever made it; the
    scheduler gives the pod what the claim has."""
    reference = object_metadata.owner(claim)
    name = reference.get("name") if reference else None
    if name == pod.get("name"):
        told = "it belongs to an earlier pod of this name and goes away with it; this pod gets its own after that"
    else:
        told = (
            f"it belongs to {f'pod {quote(name)}' if reference else 'no pod'} and is left alone; this pod uses it as it"
            f" is, whatever its own fit says; to get a claim of its own, create the pod anew without the entry"
            f" {constants.ALIAS} in spec.resourceClaims"
        )
    message = f"ResourceClaim {quote(claim_name(pod))}: {told}"
    return ClaimAction(
        ClaimResult.CLAIM_NAME_TAKEN, message=truncate(message), reason=ClaimResult.CLAIM_NAME_TAKEN.value
    )


def missing_classes(claim: Mapping[str, object], known: Collection[str]) -> list[str]:
    """The DeviceClasses that the v1 claim asks for and the cluster does not have, in order."""
    asked: dict[str, None] = {}
    spec = claim.get("spec")
    devices = spec.get("devices") if object_metadata.is_object(spec) else None
    requests = devices.get("requests") if object_metadata.is_object(devices) else None
    for request in requests if isinstance(requests, list) else []:
        for alternative in [request.get("exactly"), *request.get("firstAvailable", [])]:
            if object_metadata.is_object(alternative):
                asked[str(alternative.get("deviceClassName"))] = None
    return [name for name in asked if name not in known]


def without_classes(missing: Collection[str]) -> str:
    """What the pod's owner is told about them."""
    names = ", ".join(quote(name) for name in missing)
    return (
        f"DeviceClass {names}: not in the cluster; the pod's ResourceClaim was created and waits for it; install the"
        f" vendor's DRA driver, or choose another profile with the annotation {constants.PROFILE}"
    )
