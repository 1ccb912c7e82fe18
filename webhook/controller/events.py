"""Events on pods: what is wrong with a pod's claim, in plain words, where `kubectl describe pod` shows it.

An Event has a name of its own for each pod and reason, so that a restarted controller, or the other replica, goes on
with the same one. At most one a pod and reason in `AGAIN_SECONDS`, and a few a second in all: a quota that stops a
thousand pods is not worth a thousand Events at once; pods that were passed over come up with their next retry.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from webhook.cluster.api import MERGE_PATCH, Api, JsonObject, path
from webhook.cluster.failures import Failure, Kind
from webhook.controller import metrics
from webhook.errors import bounded

AGAIN_SECONDS = 300.0
"""Seconds until the same pod and reason may be told again."""
BURST = 50
PER_SECOND = 5.0
"""Events over all pods: so many at once, and so many a second after that."""

COMPONENT = "modelfit-controller"

_log = logging.getLogger("modelfit.events")


class _Told(NamedTuple):
    at: float
    times: int


class Recorder:
    """Writes Events; a failure to do so is logged and no more, since an Event is a courtesy."""

    def __init__(self, api: Api, instance: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._api, self._instance, self._clock = api, instance, clock
        self._lock = threading.Lock()
        self._told: dict[tuple[str, str], _Told] = {}
        self._room, self._filled = float(BURST), clock()

    def warn(self, pod: Mapping[str, object], reason: str, message: str) -> bool:
        """Tells about the pod with this metadata, unless it was told lately. Whether there is an Event now."""
        count = self._admit(str(pod.get("uid")), reason)
        if count is None:
            metrics.event(reason, "suppressed")
            return False
        body = event(pod, reason, bounded(message), datetime.now(UTC), self._instance, count)
        try:
            self._write(body)
        except Failure as failure:
            metrics.event(reason, "failed")
            _log.warning("no Event on a pod", extra={"fields": {**about(pod), "reason": reason, "why": str(failure)}})
            self._forget(str(pod.get("uid")), reason)
            return False
        metrics.event(reason, "written")
        return True

    def _write(self, body: JsonObject) -> None:
        meta = body["metadata"]
        assert isinstance(meta, dict)
        try:
            self._api.call("POST", path("v1", "events", meta["namespace"]), body=body)
        except Failure as failure:
            if failure.kind is not Kind.ALREADY_EXISTS:
                raise
            change = {key: body[key] for key in ("message", "lastTimestamp", "count")}
            where = path("v1", "events", meta["namespace"], meta["name"])
            self._api.call("PATCH", where, body=change, content_type=MERGE_PATCH)

    def _admit(self, uid: str, reason: str) -> int | None:
        """How often this has been told, with this time; None where it may not be told now."""
        with self._lock:
            now = self._clock()
            told = self._told.get((uid, reason), _Told(-AGAIN_SECONDS, 0))
            self._room = min(float(BURST), self._room + (now - self._filled) * PER_SECOND)
            self._filled = now
            if now - told.at < AGAIN_SECONDS or self._room < 1:
                return None
            self._room -= 1
            if len(self._told) > 10_000:
                self._told = {key: value for key, value in self._told.items() if now - value.at < 2 * AGAIN_SECONDS}
            self._told[uid, reason] = _Told(now, told.times + 1)
            return told.times + 1

    def _forget(self, uid: str, reason: str) -> None:
        with self._lock:
            self._told.pop((uid, reason), None)


def event(
    pod: Mapping[str, object], reason: str, message: str, now: datetime, instance: str, count: int = 1
) -> JsonObject:
    """A Warning Event on the pod with this metadata."""
    digest = hashlib.sha256(f"{pod.get('uid')} {reason}".encode()).hexdigest()[:16]
    at = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        # A pod's name may have 253 characters, and so may an Event's.
        "metadata": {"namespace": str(pod.get("namespace")), "name": f"{str(pod.get('name'))[:236]}.{digest}"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", **about(pod), "uid": pod.get("uid")},
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


def about(pod: Mapping[str, object]) -> dict[str, object]:
    """The pod's namespace and name."""
    return {"namespace": pod.get("namespace"), "name": pod.get("name")}
