"""What is to be done about one pod: a value, worked out without I/O, which `keeper` carries out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from webhook import vocabulary
from webhook.controller import records
from webhook.controller.outcomes import Outcome
from webhook.core import claims
from webhook.core.policy import Policy
from webhook.errors import Refusal, bounded, shown


@dataclass(frozen=True, slots=True)
class Plan:
    """CLAIM_CREATED: `claim` (v1) is to be created. Any other outcome stands as it is; where `message` is not empty,
    the pod's owner is to be told, under `reason`."""

    outcome: Outcome
    claim: Mapping[str, object] | None = None
    message: str = ""
    reason: str = ""


def claim_name(pod: Mapping[str, object]) -> str | None:
    """The claim that the pod with this metadata waits for, by the webhook's annotation."""
    return records.annotation(pod, vocabulary.CLAIM)


def plan(
    pod: Mapping[str, object] | None,
    claim: Mapping[str, object] | None,
    policy: Policy,
    classes: Collection[str] | None = None,
) -> Plan:
    """The plan for the pod with this metadata (None: it is gone) and the claim of ours under the name that it waits
    for, if there is one. `classes` are the DeviceClasses that exist, None where that is not known."""
    if pod is None or pod.get("deletionTimestamp"):
        return Plan(Outcome.NOTHING_TO_DO)
    if claim is not None:
        return Plan(Outcome.CLAIM_PRESENT) if records.owned_by(claim, pod) else taken(claim, pod)
    try:
        wanted = claims.companion(pod, policy, classes=classes)
    except Refusal as refusal:
        message = bounded(f"{Outcome.MODEL_FIT_UNUSABLE.sentence}: {refusal}")
        return Plan(Outcome.MODEL_FIT_UNUSABLE, message=message, reason=refusal.reason.value)
    return Plan(Outcome.CLAIM_CREATED, wanted) if wanted else Plan(Outcome.NOTHING_TO_DO)


def taken(claim: Mapping[str, object], pod: Mapping[str, object]) -> Plan:
    """The plan where the name belongs to a claim that is not this pod's. It is left alone, whoever made it; the
    scheduler gives the pod what the claim has."""
    reference = records.owner(claim)
    name = reference.get("name") if reference else None
    if name == pod.get("name"):
        told = "it belongs to an earlier pod of this name and goes away with it; this pod gets its own after that"
    else:
        told = (
            f"it belongs to {f'pod {shown(name)}' if reference else 'no pod'} and is left alone; this pod uses it as it"
            f" is, whatever its own fit says; to get a claim of its own, create the pod anew without the entry"
            f" {vocabulary.ALIAS} in spec.resourceClaims"
        )
    message = f"ResourceClaim {shown(claim_name(pod))}: {told}"
    return Plan(Outcome.CLAIM_NAME_TAKEN, message=bounded(message), reason=Outcome.CLAIM_NAME_TAKEN.value)


def missing_classes(claim: Mapping[str, object], known: Collection[str]) -> list[str]:
    """The DeviceClasses that the v1 claim asks for and the cluster does not have, in order."""
    asked: dict[str, None] = {}
    spec = claim.get("spec")
    devices = spec.get("devices") if records.is_object(spec) else None
    requests = devices.get("requests") if records.is_object(devices) else None
    for request in requests if isinstance(requests, list) else []:
        for alternative in [request.get("exactly"), *request.get("firstAvailable", [])]:
            if records.is_object(alternative):
                asked[str(alternative.get("deviceClassName"))] = None
    return [name for name in asked if name not in known]


def without_classes(missing: Collection[str]) -> str:
    """What the pod's owner is told about them."""
    names = ", ".join(shown(name) for name in missing)
    return (
        f"DeviceClass {names}: not in the cluster; the pod's ResourceClaim was created and waits for it; install the"
        f" vendor's DRA driver, or choose another profile with the annotation {vocabulary.PROFILE}"
    )
