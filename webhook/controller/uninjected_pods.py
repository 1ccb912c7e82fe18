"""Finds pods that the webhook did not inject, and reports them with an Event.

- Annotated pods that were created without the webhook. Under failurePolicy Ignore such a pod runs without the GPU that
  its model needs, and nothing else reports it.
- Copies of injected pods that have lost label and annotations (`kubectl debug --copy-to`) and wait for a claim that is
  gone.

Injected pods are watched by their label. Pods without the label are too many to be watched, so they are listed in pages
every few minutes: the metadata of all, and of the pending ones, which are few, also the spec.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping

from webhook import constants
from webhook.cluster.api import Api, path
from webhook.cluster.api_errors import ApiError
from webhook.controller import controller_metrics, object_metadata, stripped_pods
from webhook.controller.claim_actions import ClaimAction, action_for_copy
from webhook.controller.events import Recorder
from webhook.controller.pod_reconciler import Listers
from webhook.controller.results import ClaimResult
from webhook.controller.stripped_pods import UnusableFit
from webhook.core.admission import exemptions
from webhook.core.admission.exemptions import InjectedNamespaces
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims.pod_claim import find_claim_name
from webhook.json_tree import JsonObject, get_object

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"

_log = logging.getLogger("modelfit.scanner")


class UninjectedPodScanner:
    """Scans once per `scan`, and reports each pod once. `found` is the number of pods that the last scan found. For
    one thread."""

    def __init__(self, api: Api, config: AdmissionConfig, recorder: Recorder, listers: Listers) -> None:
        self._api, self._config, self._recorder, self._listers = api, config, recorder, listers
        self._strip = stripped_pods.stripper(config)
        self._reported: set[str] = set()
        self.found = 0

    def scan(self) -> None:
        """Lists the pods and writes Events. An API error is logged, and the next scan catches up."""
        try:
            namespaces = self._listers.injected_namespaces()
            pods = self._list(UNFINISHED, metadata_only=True)
            pending = self._list("status.phase=Pending", metadata_only=False)
        except ApiError as error:
            controller_metrics.count_api_failure(error.reason)
            _log.warning("scan for uninjected pods failed", extra={"fields": {"error": str(error)}})
            return
        reported: set[str] = set()
        found = 0
        for pod, message in find_uninjected(pods, namespaces, self._config):
            found += 1
            if self._report(pod, ClaimResult.NOT_INJECTED.value, message):
                reported.add(_uid(pod))
        for pod, action in find_copies(pending, namespaces, self._listers):
            if self._report(pod, action.reason, action.message):
                reported.add(_uid(pod))
        # This also drops pods that are gone.
        self._reported, self.found = reported, found

    def _list(self, field_selector: str, *, metadata_only: bool) -> list[JsonObject]:
        selectors = {"labelSelector": f"!{constants.INJECTED}", "fieldSelector": field_selector}
        pods, _ = self._api.list_objects(path("v1", "pods"), selectors, self._strip, metadata_only=metadata_only)
        return pods

    def _report(self, pod: Mapping[str, object], reason: str, message: str) -> bool:
        """Whether the pod has its Event."""
        return _uid(pod) in self._reported or self._recorder.warn(get_object(pod, "metadata"), reason, message)


def find_copies(
    pods: Iterable[Mapping[str, object]], namespaces: InjectedNamespaces, listers: Listers
) -> Iterator[tuple[Mapping[str, object], ClaimAction]]:
    """Those of the pending pods without the label `injected` that wait for the claim of another pod, which is gone."""
    for pod in pods:
        metadata, name = get_object(pod, "metadata"), find_claim_name(pod)
        is_annotated = constants.MODEL_FIT in get_object(metadata, "annotations")
        if name is None or is_annotated or not namespaces.contains(metadata.get("namespace")):
            continue
        if listers.claim(object_metadata.key(metadata, name)) is None:
            action = action_for_copy(pod, name)
            if action.message:
                yield pod, action


def find_uninjected(
    pods: Iterable[Mapping[str, object]], namespaces: InjectedNamespaces, config: AdmissionConfig
) -> Iterator[tuple[Mapping[str, object], str]]:
    """Those of the unfinished pods without the label `injected` that should have it, each with a message. Exempt pods
    and pods that need no GPU should not have it."""
    for pod in pods:
        if exemptions.is_exempt(get_object(pod, "metadata"), namespaces):
            continue
        message = _describe(pod, config)
        if message:
            yield pod, message


def _describe(pod: Mapping[str, object], config: AdmissionConfig) -> str:
    problem = (
        f"annotated {constants.MODEL_FIT}, but without a ResourceClaim: the pod bypassed the webhook, or was annotated"
        " after it was created"
    )
    request = stripped_pods.device_request(pod, config)
    if isinstance(request, UnusableFit):
        return f"{problem}; the webhook would have denied it: {request.message}"
    if request.requirements.cpu_only:
        return ""
    return f"{problem}; claims cannot be added to an existing pod: delete and recreate it"


def _uid(pod: Mapping[str, object]) -> str:
    return str(get_object(pod, "metadata").get("uid"))
