"""Events on pods: what is wrong with a pod's claim, in plain words, where `kubectl describe pod` shows it.

An Event has a name of its own for each pod and reason, so that a restarted controller, or the other replica, goes on
with the same one. At most one a pod and reason in `AGAIN_SECONDS`, and a few a second in all and for a namespace: a
quota that stops a thousand pods is not worth a thousand Events at once, nor the silence of other tenants; pods that
were passed over come up with their next retry.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from webhook.cluster.api import MERGE_PATCH, Api, JsonObject, path
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.controller import controller_metrics
from webhook.errors import truncate

AGAIN_SECONDS = 300.0
"""Seconds until the same pod and reason may be told again."""
BURST = 50
PER_SECOND = 5.0
"""Events over all pods: so many at once, and so many a second after that."""
NAMESPACE_BURST = 25
NAMESPACE_PER_SECOND = 1.0
"""Of these, for the pods of one namespace: one whose pods are all broken leaves room for others."""
MOST_NAMESPACES = 1000
"""Above this those that have their whole share are forgotten."""

COMPONENT = "modelfit-controller"

_log = logging.getLogger("modelfit.events")


class _Told(NamedTuple):
    at: float
    times: int


class _Share:
    """So many at once, and so many a second after that."""

    def __init__(self, burst: float, per_second: float, now: float) -> None:
        self._burst, self._per_second = burst, per_second
        self._room, self._filled = burst, now

    def room(self, now: float) -> float:
        """How many there may be now."""
        self._room = min(self._burst, self._room + (now - self._filled) * self._per_second)
        self._filled = now
        return self._room

    def is_whole(self, now: float) -> bool:
        """None has been taken that has not come back."""
        return self.room(now) == self._burst

    def take(self) -> None:
        self._room -= 1


class Recorder:
    """Writes Events; a failure to do so is logged and no more, since an Event is a courtesy."""

    def __init__(self, api: Api, instance: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._api, self._instance, self._clock = api, instance, clock
        self._lock = threading.Lock()
        self._told: dict[tuple[str, str], _Told] = {}
        self._all = _Share(BURST, PER_SECOND, clock())
        self._shares: dict[str, _Share] = {}

    def warn(self, pod: Mapping[str, object], reason: str, message: str) -> bool:
        """Tells about the pod with this metadata, unless it was told lately. Whether there is an Event now."""
        count = self._admit(str(pod.get("namespace")), str(pod.get("uid")), reason)
        if count is None:
            controller_metrics.count_event(reason, "suppressed")
            return False
        body = event(pod, reason, truncate(message), datetime.now(UTC), self._instance, count)
        try:
            self._write(body)
        except ApiError as failure:
            controller_metrics.count_event(reason, "failed")
            _log.warning("no Event on a pod", extra={"fields": {**about(pod), "reason": reason, "why": str(failure)}})
            self._forget(str(pod.get("uid")), reason)
            return False
        controller_metrics.count_event(reason, "written")
        return True

    def _write(self, body: JsonObject) -> None:
        meta = body["metadata"]
        assert isinstance(meta, dict)
        try:
            self._api.call("POST", path("v1", "events", meta["namespace"]), body=body)
        except ApiError as failure:
            if failure.reason is not ErrorReason.ALREADY_EXISTS:
                raise
            change = {key: body[key] for key in ("message", "lastTimestamp", "count")}
            where = path("v1", "events", meta["namespace"], meta["name"])
            self._api.call("PATCH", where, body=change, content_type=MERGE_PATCH)

    def _admit(self, namespace: str, uid: str, reason: str) -> int | None:
        """How often this has been told, with this time; None where it may not be told now."""
        with self._lock:
            now = self._clock()
            told = self._told.get((uid, reason), _Told(-AGAIN_SECONDS, 0))
            share = self._shares.get(namespace) or _Share(NAMESPACE_BURST, NAMESPACE_PER_SECOND, now)
            if now - told.at < AGAIN_SECONDS or self._all.room(now) < 1 or share.room(now) < 1:
                return None
            self._all.take()
            share.take()
            self._shares[namespace] = share
            if len(self._shares) > MOST_NAMESPACES:
                self._shares = {name: each for name, each in self._shares.items() if not each.is_whole(now)}
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
