"""Leader election on a Lease: of several replicas at most one acts.

The client's LeaderElection decides who may take or renew the lock. Closed here: its lock speaks through a global
configuration without timeouts, and an API server that does not answer ends it; its loops cannot be stopped and never
release the lock; and it may go on leading in a call that hangs. Here leading ends by itself, by the monotonic clock,
before anybody else may begin.
"""
# mypy: disable-error-code="no-untyped-call"
# The client announces types and leaves many out.

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from kubernetes.leaderelection.electionconfig import Config
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.leaderelectionrecord import LeaderElectionRecord

from webhook.cluster.api import Api, JsonObject, path
from webhook.cluster.api_errors import ApiError, ErrorReason

LEASE_SECONDS = 12
"""Seconds after its last renewal until others take a lease: what a replica that was killed costs."""
RENEW_SECONDS = 8
"""Seconds after its last renewal until the leader stops acting."""
RETRY_SECONDS = 2
"""Seconds between attempts to take or to renew it."""
CALL_SECONDS = 3.0
"""Seconds that one call may take: two fit into the time for a renewal."""

# A line for each attempt, every two seconds.
logging.getLogger("leaderelection").setLevel(logging.WARNING)


class Leadership(Protocol):
    """Whether this replica may act."""

    @property
    def leading(self) -> bool: ...


class NoLeaderElection:
    """The only replica: always leads."""

    leading = True


class _Refusal(NamedTuple):
    """An error in the shape in which LeaderElection reads it: only a body with code 404 lets it create the lock."""

    reason: str
    body: str


class LeaseLock:
    """A lock as LeaderElection wants it. Times in a record are ours to choose: they are for people, and the election
    measures how long a record has not changed."""

    def __init__(self, api: Api, namespace: str, name: str, identity: str) -> None:
        self.namespace, self.name, self.identity = namespace, name, identity
        self._api = api
        self._lease: JsonObject = {}

    def get(self, name: str, namespace: str) -> tuple[bool, LeaderElectionRecord | _Refusal]:
        try:
            self._lease = self._api.call("GET", self._path(name), read_seconds=CALL_SECONDS)
        except ApiError as failure:
            absent = failure.reason is ErrorReason.NOT_FOUND
            return False, _Refusal(str(failure), '{"code": 404}' if absent else "")
        spec = _spec(self._lease)
        # An empty holder is a released lease; the election takes over a record with a None in it.
        return True, LeaderElectionRecord(
            spec.get("holderIdentity") or None,
            str(spec.get("leaseDurationSeconds", LEASE_SECONDS)),
            spec.get("acquireTime", ""),
            spec.get("renewTime", ""),
        )

    def create(self, name: str, namespace: str, election_record: LeaderElectionRecord) -> bool:
        metadata = {"name": name, "namespace": namespace}
        body: JsonObject = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": self._held({}),
        }
        return self._written("POST", self._path(), body)

    def update(self, name: str, namespace: str, updated_record: LeaderElectionRecord) -> bool:
        # With the resource version of the lease that was read: if anybody wrote it since, this fails.
        return self._written("PUT", self._path(name), {**self._lease, "spec": self._held(_spec(self._lease))})

    def release(self) -> None:
        """Lets others take it at once; without effect where it is no longer held."""
        held, _ = self.get(self.name, self.namespace)
        spec = _spec(self._lease)
        if held and spec.get("holderIdentity") == self.identity:
            self._written("PUT", self._path(self.name), {**self._lease, "spec": {**spec, "holderIdentity": ""}})

    def _held(self, spec: JsonObject) -> JsonObject:
        """The Lease's spec, held by us from now on."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        held: JsonObject = {**spec, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
        if spec.get("holderIdentity") != self.identity:
            transitions = spec.get("leaseTransitions", 0)
            held |= {"holderIdentity": self.identity, "acquireTime": now}
            held["leaseTransitions"] = transitions + 1 if isinstance(transitions, int) and spec else 0
        return held

    def _written(self, method: str, where: str, body: JsonObject) -> bool:
        try:
            self._lease = self._api.call(method, where, body=body, read_seconds=CALL_SECONDS)
        except ApiError:
            return False
        return True

    def _path(self, *name: str) -> str:
        return path("coordination.k8s.io/v1", "leases", self.namespace, *name)


class LeaderElector:
    """Takes and renews the lock until `stop`; `changed(leading)` runs when this replica begins or ceases to lead."""

    def __init__(
        self,
        lock: LeaseLock,
        stop: threading.Event,
        changed: Callable[[bool], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lock, self._stop, self._changed, self._clock = lock, stop, changed, clock
        self._until = -1.0
        self._told = False
        config = Config(lock, LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS, lambda: None, None)
        self._election = LeaderElection(config)
        self._thread = threading.Thread(target=self._run, name="leader election", daemon=True)

    @property
    def leading(self) -> bool:
        return self._clock() < self._until

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def step(self) -> None:
        """One attempt to take or renew the lock."""
        began = self._clock()
        if self._election.try_acquire_or_renew():
            # It may have run out during this very call; what happened meanwhile went by unheeded.
            self._tell(self.leading and self._told)
            # From before the call: others count from after it.
            self._until = began + RENEW_SECONDS
        self._tell(self.leading)

    def release(self) -> None:
        """After `stop`: hands the lock over."""
        self._thread.join(CALL_SECONDS)
        self._until = -1.0
        self._lock.release()

    def _run(self) -> None:
        while not self._stop.is_set():
            self.step()
            self._stop.wait(RETRY_SECONDS)

    def _tell(self, leading: bool) -> None:
        if leading != self._told:
            self._told = leading
            self._changed(leading)


def _spec(lease: JsonObject) -> JsonObject:
    spec = lease.get("spec")
    return spec if isinstance(spec, dict) else {}
