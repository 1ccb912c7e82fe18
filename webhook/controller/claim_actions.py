"""Decides what to do about one pod: a value, computed without I/O, that `pod_reconciler` carries out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from webhook import constants
from webhook.controller import object_metadata, stripped_pods
from webhook.controller.results import ClaimResult
from webhook.controller.stripped_pods import UnusableFit
from webhook.core import claims
from webhook.core.admission import exemptions
from webhook.core.admission.exemptions import InjectedNamespaces
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims.pod_claim import find_claim_name
from webhook.errors import quote, truncate
from webhook.json_tree import get_object, get_text
from webhook.reasons import Reason


@dataclass(frozen=True, slots=True)
class ClaimAction:
    """CLAIM_CREATED: create `claim` (v1). With any other result there is nothing to create; if `message` is not empty,
    emit an Event under `reason`."""

    result: ClaimResult
    claim: Mapping[str, object] | None = None
    message: str = ""
    reason: str = ""


def decide_action(
    pod: Mapping[str, object] | None,
    claim: Mapping[str, object] | None,
    config: AdmissionConfig,
    namespaces: InjectedNamespaces,
    classes: Collection[str] | None = None,
) -> ClaimAction:
    """The action for a pod (None if it is gone), given the metadata of modelfit's claim of the name that the pod waits
    for, if there is one. `classes` are the names of the existing DeviceClasses, None if unknown.

    The pod may be forged. The immutable entry in its spec names the claim, so a pod gets one claim at most."""
    name = find_claim_name(pod or {})
    metadata = get_object(pod, "metadata")
    if pod is None or name is None or not namespaces.contains(metadata.get("namespace")):
        return ClaimAction(ClaimResult.NOTHING_TO_DO)
    exemption = exemptions.find_exemption(metadata)
    if exemption is Reason.NOT_ANNOTATED and claim is None:
        return action_for_copy(pod, name)
    if exemption:
        return ClaimAction(ClaimResult.NOTHING_TO_DO)
    if claim is not None:
        if object_metadata.is_owned_by(claim, metadata):
            return ClaimAction(ClaimResult.CLAIM_PRESENT)
        return action_for_name_conflict(claim, pod)
    if is_bound(pod):
        return ClaimAction(ClaimResult.NOTHING_TO_DO)
    request = stripped_pods.device_request(pod, config)
    if isinstance(request, UnusableFit):
        message = truncate(f"the pod's ResourceClaim cannot be computed: {request.message}")
        return ClaimAction(ClaimResult.MODEL_FIT_UNUSABLE, message=message, reason=request.reason)
    new_claim = claims.build_pod_claim(pod, config, request=request, classes=classes)
    return ClaimAction(ClaimResult.CLAIM_CREATED, new_claim) if new_claim else ClaimAction(ClaimResult.NOTHING_TO_DO)


def is_bound(pod: Mapping[str, object]) -> bool:
    """Whether the pod has a node. Only the scheduler allocates a claim, and it does so before it binds the pod: a bound
    pod without a claim cannot use one that is created now."""
    return bool(get_object(pod, "spec").get("nodeName"))


def action_for_copy(pod: Mapping[str, object], name: str) -> ClaimAction:
    """The action for a pod without a fit that names a claim which modelfit has not created: a copy of an injected pod
    that has lost its annotations."""
    metadata = get_object(pod, "metadata")
    if is_bound(pod) or exemptions.find_exemption_if_annotated(metadata):
        return ClaimAction(ClaimResult.NOTHING_TO_DO)
    message = truncate(
        f"waits for ResourceClaim {quote(name)} of another pod, which is gone; without the annotation"
        f" {constants.MODEL_FIT} this pod gets none of its own: delete it, and copy the original with its annotations"
        " (kubectl debug --keep-annotations)"
    )
    return ClaimAction(ClaimResult.MODEL_FIT_MISSING, message=message, reason=ClaimResult.MODEL_FIT_MISSING.value)


def action_for_name_conflict(claim: Mapping[str, object], pod: Mapping[str, object]) -> ClaimAction:
    """The action if the name belongs to a claim that is not this pod's. That claim is left alone, whoever made it, and
    the scheduler gives the pod its devices."""
    reference = object_metadata.owning_pod(claim)
    owner = reference.get("name") if reference else None
    if owner == get_text(pod, "metadata", "name"):
        explanation = "it belongs to an earlier pod of this name and is removed with it; this pod then gets its own"
    else:
        explanation = (
            f"it belongs to {f'pod {quote(owner)}' if reference else 'no pod'} and is left alone; this pod uses it as"
            f" it is, whatever its own fit says; for a claim of its own, recreate the pod without the entry"
            f" {constants.ALIAS} in spec.resourceClaims"
        )
    result = ClaimResult.CLAIM_NAME_TAKEN
    message = truncate(f"ResourceClaim {quote(find_claim_name(pod))}: {explanation}")
    return ClaimAction(result, message=message, reason=result.value)
