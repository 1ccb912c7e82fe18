"""Leader election on a Lease: at most one of several replicas is the leader.

The client's LeaderElection decides who may acquire or renew the lock. Differences from the client's own lock and loop:
calls have timeouts, and an API server that does not respond does not end the election; the loop can be stopped and
releases the lock; and leadership expires by the monotonic clock before another replica may acquire the lock, even while
a call hangs.
"""
# mypy: disable-error-code="no-untyped-call"
# The client claims to be typed, but many of its functions have no annotations.

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from kubernetes.leaderelection.electionconfig import Config
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.leaderelectionrecord import LeaderElectionRecord

from webhook.cluster.api import Api, path
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.json_tree import JsonObject, get_object

LEASE_SECONDS = 12
"""Seconds after the last renewal until another replica may acquire the lease: the cost of a killed leader."""
RENEW_SECONDS = 8
"""Seconds after the last renewal until the leader stops acting."""
RETRY_SECONDS = 2
"""Seconds between attempts to acquire or renew the lease."""
CALL_SECONDS = 3.0
"""Timeout of one call: two of them fit into RENEW_SECONDS."""

# It logs a line every two seconds at INFO.
logging.getLogger("leaderelection").setLevel(logging.WARNING)


class NoLeaderElection:
    """Stands in for LeaderElector in an installation with one replica: always the leader."""

    is_leader = True
    alive = True

    def start(self) -> None: ...

    def release(self) -> None: ...


class _LockError(NamedTuple):
    """An error in the shape that LeaderElection reads: it creates the lock only if the body has code 404."""

    reason: str
    body: str


class LeaseLock:
    """The lock that LeaderElection acquires and renews. The times written to the Lease are informational: the election
    measures how long a record has not changed."""

    def __init__(self, api: Api, namespace: str, name: str, identity: str) -> None:
        self.namespace, self.name, self.identity = namespace, name, identity
        self._api = api
        self._lease: JsonObject = {}

    def get(self, name: str, namespace: str) -> tuple[bool, LeaderElectionRecord | _LockError]:
        try:
            self._lease = self._api.call("GET", self._path(name), read_seconds=CALL_SECONDS)
        except ApiError as error:
            not_found = error.reason is ErrorReason.NOT_FOUND
            return False, _LockError(str(error), '{"code": 404}' if not_found else "")
        spec = _spec(self._lease)
        # An empty holder is a released lease: the election takes over a record whose holder is None.
        return True, LeaderElectionRecord(
            spec.get("holderIdentity") or None,
            str(spec.get("leaseDurationSeconds", LEASE_SECONDS)),
            spec.get("acquireTime", ""),
            spec.get("renewTime", ""),
        )

    def create(self, name: str, namespace: str, election_record: LeaderElectionRecord) -> bool:
        body: JsonObject = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace},
            "spec": self._renewed_spec({}),
        }
        return self._write("POST", self._path(), body)

    def update(self, name: str, namespace: str, updated_record: LeaderElectionRecord) -> bool:
        # The lease keeps the resource version that was read, so a concurrent write makes this one fail.
        spec = self._renewed_spec(_spec(self._lease))
        return self._write("PUT", self._path(name), {**self._lease, "spec": spec})

    def release(self) -> None:
        """Clears the holder, so that another replica acquires the lease at once. No effect if it is not held."""
        found, _ = self.get(self.name, self.namespace)
        spec = _spec(self._lease)
        if found and spec.get("holderIdentity") == self.identity:
            self._write("PUT", self._path(self.name), {**self._lease, "spec": {**spec, "holderIdentity": ""}})

    def _renewed_spec(self, spec: JsonObject) -> JsonObject:
        """The Lease's spec, held by this replica from now on."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        renewed: JsonObject = {**spec, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
        if spec.get("holderIdentity") != self.identity:
            transitions = spec.get("leaseTransitions", 0)
            renewed |= {"holderIdentity": self.identity, "acquireTime": now}
            renewed["leaseTransitions"] = transitions + 1 if isinstance(transitions, int) and spec else 0
        return renewed

    def _write(self, method: str, url_path: str, body: JsonObject) -> bool:
        try:
            self._lease = self._api.call(method, url_path, body=body, read_seconds=CALL_SECONDS)
        except ApiError:
            return False
        return True

    def _path(self, *name: str) -> str:
        return path("coordination.k8s.io/v1", "leases", self.namespace, *name)


class LeaderElector:
    """Acquires and renews the lock until `stop` is set. Calls `changed(is_leader)` when this replica gains or loses
    leadership."""

    def __init__(
        self,
        lock: LeaseLock,
        stop: threading.Event,
        changed: Callable[[bool], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lock, self._stop, self._changed, self._clock = lock, stop, changed, clock
        self._leader_until = -1.0
        self._reported = False
        config = Config(lock, LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS, lambda: None, None)
        self._election = LeaderElection(config)
        self._thread = threading.Thread(target=self._run, name="leader election", daemon=True)

    @property
    def is_leader(self) -> bool:
        return self._clock() < self._leader_until

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def step(self) -> None:
        """One attempt to acquire or renew the lock."""
        started = self._clock()
        if self._election.try_acquire_or_renew():
            # Leadership may have expired during this call: what changed meanwhile was ignored, so the loss is reported
            # before the gain.
            self._report(self.is_leader and self._reported)
            # Counted from before the call: other replicas count from after it.
            self._leader_until = started + RENEW_SECONDS
        self._report(self.is_leader)

    def release(self) -> None:
        """Releases the lock. `stop` must be set before."""
        self._thread.join(CALL_SECONDS)
        self._leader_until = -1.0
        self._lock.release()

    def _run(self) -> None:
        while not self._stop.is_set():
            self.step()
            self._stop.wait(RETRY_SECONDS)

    def _report(self, is_leader: bool) -> None:
        if is_leader != self._reported:
            self._reported = is_leader
            self._changed(is_leader)


def _spec(lease: JsonObject) -> JsonObject:
    return dict(get_object(lease, "spec"))
