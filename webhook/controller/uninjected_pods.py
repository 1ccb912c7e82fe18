"""Looks for pods that are annotated and were admitted without the webhook, and says so on them.

Under failurePolicy Ignore such a pod runs without the GPU that its model needs, and nothing else would tell. Injected
pods are watched by their label; these have none, and to watch every pod of a cluster for them would cost more than it
is worth: they are listed, metadata only and in pages, every few minutes.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping

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

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"

_log = logging.getLogger("modelfit.audit")


class UninjectedPodScanner:
    """One look at a time with `look`; each pod is told about once. `left_alone` are namespaces. `found` is how many
    pods the last look found, told about or not."""

    def __init__(self, api: Api, config: AdmissionConfig, recorder: Recorder, left_alone: frozenset[str]) -> None:
        self._api, self._policy, self._recorder, self._left_alone = api, config, recorder, left_alone
        self._told: set[str] = set()
        self.found = 0

    def look(self) -> None:
        """Lists, and writes the Events. A failure is logged; the next look makes up for it."""
        try:
            left_alone = self._namespaces_left_alone()
            selectors = {"labelSelector": f"!{constants.INJECTED}", "fieldSelector": UNFINISHED}
            pods, _ = self._api.metadata(path("v1", "pods"), selectors, object_metadata.strip)
        except ApiError as failure:
            controller_metrics.count_api_failure(failure.reason)
            _log.warning("could not look for pods without injection", extra={"fields": {"why": str(failure)}})
            return
        seen: set[str] = set()
        found = 0
        for pod, message in find_uninjected(
            (object_metadata.metadata(item) for item in pods), left_alone, self._policy
        ):
            found += 1
            uid = str(pod.get("uid"))
            if uid in self._told or self._recorder.warn(pod, ClaimResult.NOT_INJECTED, message):
                seen.add(uid)
        # Pods that are gone are forgotten with this.
        self._told, self.found = seen, found

    def _namespaces_left_alone(self) -> frozenset[str]:
        selectors = {"labelSelector": f"{constants.INJECT}={constants.INJECT_DISABLED}"}
        found, _ = self._api.metadata(path("v1", "namespaces"), selectors, object_metadata.strip)
        return self._left_alone.union(str(object_metadata.metadata(namespace).get("name")) for namespace in found)


def find_uninjected(
    pods: Iterable[Mapping[str, object]], left_alone: Collection[str], config: AdmissionConfig
) -> Iterator[tuple[Mapping[str, object], str]]:
    """Those of the unfinished pods (metadata) that are annotated and should have been injected, each with what is to be
    said. A pod that needs no GPU misses nothing; one that is to be left alone was left alone."""
    for pod in pods:
        if exemptions.is_exempt(pod, left_alone):
            continue
        message = _complaint(pod, config)
        if message:
            yield pod, message


def _complaint(pod: Mapping[str, object], config: AdmissionConfig) -> str:
    annotations = pod.get("annotations")
    said = f"annotated {constants.MODEL_FIT}, but without a ResourceClaim: {ClaimResult.NOT_INJECTED.sentence}"
    try:
        read = device_request.from_annotations(annotations if isinstance(annotations, dict) else {}, config)
    except Denied as refusal:
        return f"{said}; the webhook would have refused it: {refusal}"
    if read.requirements.cpu_only:
        return ""
    return f"{said}; claims cannot be added to a pod that exists: delete it, and have it created anew"
