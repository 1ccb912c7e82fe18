"""Which pods are exempt: the one rule for the webhook, the controller and pod templates.

The chart states the same rule in its selectors and match conditions, so that the API server does not call the webhook
for most exempt pods; tests/chart/test_admission.py compares the two.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from webhook import constants
from webhook.json_tree import get_object
from webhook.reasons import Reason

EXPLANATIONS = {
    Reason.DISABLED: f"the pod is labelled {constants.INJECT}: {constants.INJECT_DISABLED}",
    Reason.MIRROR_POD: "mirror pods cannot reference resource claims",
    Reason.BEING_DELETED: "the pod is being deleted",
}
"""Why an annotated pod is exempt."""


@dataclass(frozen=True, slots=True)
class InjectedNamespaces:
    """The namespaces whose pods are injected."""

    excluded: Collection[str] = ()
    included: Collection[str] = ()
    """Empty: all but the excluded ones."""

    def contains(self, namespace: object) -> bool:
        return namespace not in self.excluded and (not self.included or namespace in self.included)


def find_exemption(metadata: Mapping[str, object]) -> Reason | None:
    """Why a pod with this metadata is exempt; None if it is not. Malformed annotations and labels count as absent."""
    if constants.MODEL_FIT not in get_object(metadata, "annotations"):
        return Reason.NOT_ANNOTATED
    return find_exemption_if_annotated(metadata)


def find_exemption_if_annotated(metadata: Mapping[str, object]) -> Reason | None:
    """Why a pod with this metadata is exempt, annotated or not; None if it is not."""
    if is_disabled(metadata):
        return Reason.DISABLED
    if constants.MIRROR_POD in get_object(metadata, "annotations"):
        return Reason.MIRROR_POD
    return Reason.BEING_DELETED if metadata.get("deletionTimestamp") else None


def is_exempt(metadata: Mapping[str, object], namespaces: InjectedNamespaces) -> bool:
    """Whether a stored pod with this metadata, which names its namespace, is exempt."""
    return not namespaces.contains(metadata.get("namespace")) or find_exemption(metadata) is not None


def is_disabled(metadata: Mapping[str, object]) -> bool:
    """Whether the object is labelled `llmfit.ai/inject: disabled`."""
    return get_object(metadata, "labels").get(constants.INJECT) == constants.INJECT_DISABLED
