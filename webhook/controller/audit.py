"""Looks for pods that are annotated and were admitted without the webhook, and says so on them.

Under failurePolicy Ignore such a pod runs without the GPU that its model needs, and nothing else would tell. Injected
pods are watched by their label; these have none, and to watch every pod of a cluster for them would cost more than it
is worth: they are listed, metadata only and in pages, every few minutes.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping

from webhook import vocabulary
from webhook.cluster.api import Api, path
from webhook.cluster.failures import Failure
from webhook.controller import metrics, records
from webhook.controller.events import Recorder
from webhook.controller.outcomes import Outcome
from webhook.core import demand
from webhook.core.policy import Policy
from webhook.errors import Refusal

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"

_log = logging.getLogger("modelfit.audit")


class Audit:
    """One look at a time with `look`; each pod is told about once. `left_alone` are namespaces. `found` is how many
    pods the last look found, told about or not."""

    def __init__(self, api: Api, policy: Policy, recorder: Recorder, left_alone: frozenset[str]) -> None:
        self._api, self._policy, self._recorder, self._left_alone = api, policy, recorder, left_alone
        self._told: set[str] = set()
        self.found = 0

    def look(self) -> None:
        """Lists, and writes the Events. A failure is logged; the next look makes up for it."""
        try:
            left_alone = self._namespaces_left_alone()
            selectors = {"labelSelector": f"!{vocabulary.INJECTED}", "fieldSelector": UNFINISHED}
            pods, _ = self._api.metadata(path("v1", "pods"), selectors, records.trim)
        except Failure as failure:
            metrics.failed(failure.kind)
            _log.warning("could not look for pods without injection", extra={"fields": {"why": str(failure)}})
            return
        seen: set[str] = set()
        found = 0
        for pod, message in suspects((records.metadata(item) for item in pods), left_alone, self._policy):
            found += 1
            uid = str(pod.get("uid"))
            if uid in self._told or self._recorder.warn(pod, Outcome.NOT_INJECTED, message):
                seen.add(uid)
        # Pods that are gone are forgotten with this.
        self._told, self.found = seen, found

    def _namespaces_left_alone(self) -> frozenset[str]:
        selectors = {"labelSelector": f"{vocabulary.INJECT}={vocabulary.INJECT_DISABLED}"}
        found, _ = self._api.metadata(path("v1", "namespaces"), selectors, records.trim)
        return self._left_alone.union(str(records.metadata(namespace).get("name")) for namespace in found)


def suspects(
    pods: Iterable[Mapping[str, object]], left_alone: Collection[str], policy: Policy
) -> Iterator[tuple[Mapping[str, object], str]]:
    """Those of the unfinished pods (metadata) that are annotated and should have been injected, each with what is to be
    said. A pod that needs no GPU misses nothing; one that is to be left alone was left alone."""
    for pod in pods:
        if records.annotation(pod, vocabulary.MODEL_FIT) is None or pod.get("deletionTimestamp"):
            continue
        if records.label(pod, vocabulary.INJECT) == vocabulary.INJECT_DISABLED or pod.get("namespace") in left_alone:
            continue
        if records.annotation(pod, vocabulary.MIRROR_POD) is not None:
            continue
        message = _complaint(pod, policy)
        if message:
            yield pod, message


def _complaint(pod: Mapping[str, object], policy: Policy) -> str:
    annotations = pod.get("annotations")
    said = f"annotated {vocabulary.MODEL_FIT}, but without a ResourceClaim: {Outcome.NOT_INJECTED.sentence}"
    try:
        read = demand.read(annotations if isinstance(annotations, dict) else {}, policy)
    except Refusal as refusal:
        return f"{said}; the webhook would have refused it: {refusal}"
    if read.need.cpu_only:
        return ""
    return f"{said}; claims cannot be added to a pod that exists: delete it, and have it created anew"
