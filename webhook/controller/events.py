"""Events on pods, which `kubectl describe pod` shows: why a pod has no usable claim.

The name of an Event is derived from the pod and the reason, so that a restarted controller or another replica updates
the same Event. Events are rate-limited per pod and reason (`REPEAT_SECONDS`), per namespace and in total: a quota that
stops a thousand pods must neither cause a thousand Events at once nor silence other namespaces. A part of the
total is kept for namespaces that have written none for a while (`RESERVE`), so that a few noisy namespaces do not use
up the Events of quiet ones. Within a namespace, the first Event of each reason is exempt from the namespace's limit:
many pods with one problem do not hide another. A suppressed Event is written at a later retry of its pod.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from webhook.cluster.api import MERGE_PATCH, Api, path
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.controller import controller_metrics
from webhook.errors import truncate
from webhook.json_tree import JsonObject
from webhook.observe.log_throttle import LogThrottle
from webhook.observe.token_bucket import TokenBucket

REPEAT_SECONDS = 300.0
"""Minimum seconds between two Events of the same pod and reason."""
BURST = 50
PER_SECOND = 5.0
"""Rate limit of all Events."""
NAMESPACE_BURST = 25
NAMESPACE_PER_SECOND = 0.25
"""Rate limit of the Events of one namespace: twenty noisy ones need the whole total."""
RESERVE = BURST / 2
"""Events of the total that are kept for namespaces that have not used any of their limit."""
MAX_NAMESPACES = 1000
"""Number of namespaces above which those with a full bucket are dropped from memory."""
MAX_EVENTS = 10_000
"""Number of Events above which old ones are dropped from memory."""

COMPONENT = "modelfit-controller"

_log = logging.getLogger("modelfit.events")


class _LastEvent(NamedTuple):
    at: float
    total: int


class Recorder:
    """Writes Events. A failed write is logged and counted, and raises nothing."""

    def __init__(self, api: Api, instance: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._api, self._instance, self._clock = api, instance, clock
        self._lock = threading.Lock()
        self._throttle = LogThrottle(clock)
        self._last: dict[tuple[str, str], _LastEvent] = {}
        self._bucket = TokenBucket(BURST, PER_SECOND, clock())
        self._namespace_buckets: dict[str, TokenBucket] = {}
        self._reasons: dict[tuple[str, str], float] = {}
        """When the latest Event of a namespace and reason was written."""

    def warn(self, pod: Mapping[str, object], reason: str, message: str) -> bool:
        """Writes a Warning on the pod with this metadata, unless a rate limit applies. Whether it was written."""
        count = self._reserve(str(pod.get("namespace")), str(pod.get("uid")), reason)
        if count is None:
            controller_metrics.count_event(reason, "suppressed")
            return False
        body = build_event(pod, reason, truncate(message), datetime.now(UTC), self._instance, count)
        try:
            self._write(body)
        except ApiError as error:
            controller_metrics.count_event(reason, "failed")
            failures = self._throttle.allow((str(pod.get("namespace")), error.reason))
            if failures:
                fields = {**namespace_and_name(pod), "reason": reason, "error": str(error), "count": failures}
                _log.warning("failed to write Event", extra={"fields": fields})
            self._forget(str(pod.get("uid")), reason)
            return False
        controller_metrics.count_event(reason, "written")
        return True

    def _write(self, body: JsonObject) -> None:
        metadata = body["metadata"]
        assert isinstance(metadata, dict)
        try:
            self._api.call("POST", path("v1", "events", metadata["namespace"]), body=body)
        except ApiError as error:
            if error.reason is not ErrorReason.ALREADY_EXISTS:
                raise
            change = {key: body[key] for key in ("message", "lastTimestamp", "count")}
            url_path = path("v1", "events", metadata["namespace"], metadata["name"])
            self._api.call("PATCH", url_path, body=change, content_type=MERGE_PATCH)

    def _reserve(self, namespace: str, uid: str, reason: str) -> int | None:
        """The `count` of the Event to write now; None if a rate limit applies."""
        with self._lock:
            now = self._clock()
            last = self._last.get((uid, reason), _LastEvent(-REPEAT_SECONDS, 0))
            bucket = self._namespace_buckets.get(namespace) or TokenBucket(NAMESPACE_BURST, NAMESPACE_PER_SECOND, now)
            first = now - self._reasons.get((namespace, reason), -REPEAT_SECONDS) >= REPEAT_SECONDS
            allowed = first or bucket.available(now) >= 1
            required = 1 if first or bucket.is_full(now) else 1 + RESERVE
            if now - last.at < REPEAT_SECONDS or not allowed or self._bucket.available(now) < required:
                return None
            self._bucket.take()
            bucket.take()
            self._namespace_buckets[namespace] = bucket
            if len(self._namespace_buckets) > MAX_NAMESPACES:
                buckets = self._namespace_buckets.items()
                self._namespace_buckets = {name: each for name, each in buckets if not each.is_full(now)}
            if len(self._last) > MAX_EVENTS:
                self._last = {key: each for key, each in self._last.items() if now - each.at < 2 * REPEAT_SECONDS}
                self._reasons = {key: at for key, at in self._reasons.items() if now - at < REPEAT_SECONDS}
            self._last[uid, reason] = _LastEvent(now, last.total + 1)
            self._reasons[namespace, reason] = now
            return last.total + 1

    def _forget(self, uid: str, reason: str) -> None:
        with self._lock:
            self._last.pop((uid, reason), None)


def build_event(
    pod: Mapping[str, object], reason: str, message: str, now: datetime, instance: str, count: int = 1
) -> JsonObject:
    """A Warning Event on the pod with this metadata."""
    digest = hashlib.sha256(f"{pod.get('uid')} {reason}".encode()).hexdigest()[:16]
    at = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        # The name of a pod, like that of an Event, has at most 253 characters.
        "metadata": {"namespace": str(pod.get("namespace")), "name": f"{str(pod.get('name'))[:236]}.{digest}"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", **namespace_and_name(pod), "uid": pod.get("uid")},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "source": {"component": COMPONENT},
        "reportingComponent": f"llmfit.ai/{COMPONENT}",
        "reportingInstance": instance[:128],
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": count,
    }


def namespace_and_name(pod: Mapping[str, object]) -> dict[str, object]:
    """The fields that identify the pod in logs and references."""
    return {"namespace": pod.get("namespace"), "name": pod.get("name")}
