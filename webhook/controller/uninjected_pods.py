"""Finds annotated pods that were created without the webhook, and reports them with an Event.

Under failurePolicy Ignore such a pod runs without the GPU that its model needs, and nothing else reports it. Injected
pods are watched by their label. Uninjected pods have no label, and watching every pod of a cluster for them is too
expensive, so they are listed (metadata only, in pages) every few minutes.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import cast

from webhook import constants
from webhook.cluster.api import Api, path
from webhook.cluster.api_errors import ApiError
from webhook.controller import controller_metrics, object_metadata
from webhook.controller.events import Recorder
from webhook.controller.results import ClaimResult
from webhook.core.admission import exemptions
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.errors import Denied
from webhook.json_tree import get_object

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"

_log = logging.getLogger("modelfit.scanner")


class UninjectedPodScanner:
    """Scans once per `scan`, and reports each pod once. `found` is the number of pods that the last scan found. For
    one thread."""

    def __init__(
        self, api: Api, config: AdmissionConfig, recorder: Recorder, excluded_namespaces: frozenset[str]
    ) -> None:
        self._api, self._config, self._recorder = api, config, recorder
        self._excluded_namespaces = excluded_namespaces
        self._reported: set[str] = set()
        self.found = 0

    def scan(self) -> None:
        """Lists the pods and writes Events. An API error is logged, and the next scan catches up."""
        try:
            excluded = self._excluded_namespaces | self._list_disabled_namespaces()
            selectors = {"labelSelector": f"!{constants.INJECTED}", "fieldSelector": UNFINISHED}
            pods, _ = self._api.list_metadata(path("v1", "pods"), selectors, object_metadata.strip)
        except ApiError as error:
            controller_metrics.count_api_failure(error.reason)
            _log.warning("scan for uninjected pods failed", extra={"fields": {"error": str(error)}})
            return
        reported: set[str] = set()
        found = 0
        for pod, message in find_uninjected((get_object(pod, "metadata") for pod in pods), excluded, self._config):
            found += 1
            uid = str(pod.get("uid"))
            if uid in self._reported or self._recorder.warn(pod, ClaimResult.NOT_INJECTED, message):
                reported.add(uid)
        # This also drops pods that are gone.
        self._reported, self.found = reported, found

    def _list_disabled_namespaces(self) -> frozenset[str]:
        selectors = {"labelSelector": f"{constants.INJECT}={constants.INJECT_DISABLED}"}
        namespaces, _ = self._api.list_metadata(path("v1", "namespaces"), selectors, object_metadata.strip)
        return frozenset(str(get_object(namespace, "metadata").get("name")) for namespace in namespaces)


def find_uninjected(
    pods: Iterable[Mapping[str, object]], excluded_namespaces: Collection[str], config: AdmissionConfig
) -> Iterator[tuple[Mapping[str, object], str]]:
    """Those of the unfinished pods (metadata) without the label `injected` that should have it, each with a message.
    Exempt pods and pods that need no GPU should not have it."""
    for pod in pods:
        if exemptions.is_exempt(pod, excluded_namespaces):
            continue
        message = _describe(pod, config)
        if message:
            yield pod, message


def _describe(pod: Mapping[str, object], config: AdmissionConfig) -> str:
    annotations = cast(Mapping[str, str], get_object(pod, "annotations"))
    problem = (
        f"annotated {constants.MODEL_FIT}, but without a ResourceClaim: the pod bypassed the webhook, or was annotated"
        " after it was created"
    )
    try:
        request = device_request.from_annotations(annotations, config)
    except Denied as denied:
        return f"{problem}; the webhook would have denied it: {denied}"
    if request.requirements.cpu_only:
        return ""
    return f"{problem}; claims cannot be added to an existing pod: delete and recreate it"
