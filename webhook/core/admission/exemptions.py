"""Which pods are exempt: the one rule for the webhook, the controller and pod templates.

The chart states the same rule in its selectors and match conditions, so that the API server does not call the webhook
for most exempt pods; tests/chart/test_admission.py compares the two.
"""

from collections.abc import Collection, Mapping

from webhook import constants
from webhook.json_tree import get_object
from webhook.reasons import Reason

EXPLANATIONS = {
    Reason.DISABLED: f"the pod is labelled {constants.INJECT}: {constants.INJECT_DISABLED}",
    Reason.MIRROR_POD: "mirror pods cannot reference resource claims",
    Reason.BEING_DELETED: "the pod is being deleted",
}
"""Why an annotated pod is exempt."""


def find_exemption(metadata: Mapping[str, object]) -> Reason | None:
    """Why a pod with this metadata is exempt; None if it is not. Malformed annotations and labels count as absent."""
    annotations = get_object(metadata, "annotations")
    if constants.MODEL_FIT not in annotations:
        return Reason.NOT_ANNOTATED
    if is_disabled(metadata):
        return Reason.DISABLED
    if constants.MIRROR_POD in annotations:
        return Reason.MIRROR_POD
    return Reason.BEING_DELETED if metadata.get("deletionTimestamp") else None


def is_exempt(metadata: Mapping[str, object], excluded_namespaces: Collection[str]) -> bool:
    """Whether a stored pod with this metadata, which names its namespace, is exempt."""
    return metadata.get("namespace") in excluded_namespaces or find_exemption(metadata) is not None


def is_disabled(metadata: Mapping[str, object]) -> bool:
    """Whether the object is labelled `llmfit.ai/inject: disabled`."""
    return get_object(metadata, "labels").get(constants.INJECT) == constants.INJECT_DISABLED
