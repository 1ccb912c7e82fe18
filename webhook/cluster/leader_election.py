"""Leader election on a Lease: at most one of several replicas is the leader.

The rules are those of client-go: a replica takes over a lease whose record has not changed for the lease's duration, as
the replica itself observed it. All durations are measured with the monotonic clock. The times in the Lease are
informational, so that neither a wall clock that is wrong nor one that is set affects the election.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from webhook.cluster.api import Api, path
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.json_tree import JsonObject, get_object, get_text

LEASE_SECONDS = 12
"""Seconds after the last renewal until another replica may acquire the lease: the cost of a killed leader."""
MAX_LEASE_SECONDS = 60
"""The longest duration that a record of another release may ask for."""
RENEW_SECONDS = 8
"""Seconds after the last renewal until the leader stops acting."""
RETRY_SECONDS = 2
"""Seconds between attempts to acquire or renew the lease."""
CALL_SECONDS = 3.0
"""Timeout of one call: two of them fit into RENEW_SECONDS."""

_log = logging.getLogger("modelfit.election")


class NoLeaderElection:
    """Stands in for LeaderElector in an installation with one replica: always the leader."""

    is_leader = True
    alive = True

    def start(self) -> None: ...

    def release(self) -> None: ...


class LeaseLock:
    """Reads and writes the Lease for the replica `identity`. Methods raise ApiError."""

    def __init__(self, api: Api, namespace: str, name: str, identity: str) -> None:
        self.namespace, self.name, self.identity = namespace, name, identity
        self._api = api

    def read(self) -> JsonObject | None:
        """None if the Lease does not exist."""
        try:
            lease = self._api.call("GET", self._path(self.name), read_seconds=CALL_SECONDS)
        except ApiError as error:
            if error.reason is not ErrorReason.NOT_FOUND:
                raise
            return None
        if not get_text(lease, "metadata", "resourceVersion"):
            # Without a resource version the write would not notice that another replica writes at the same time.
            raise ApiError(ErrorReason.UNEXPECTED, f"Lease {self.namespace}/{self.name}: no resource version")
        return lease

    def hold(self, lease: JsonObject | None) -> JsonObject:
        """Writes this replica as the holder, and returns the written Lease. None creates the Lease. Raises ApiError
        with CONFLICT if the Lease has changed since it was read."""
        if lease is None:
            metadata: JsonObject = {"name": self.name, "namespace": self.namespace}
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
            written = self._write("POST", self._path(), {**lease, "spec": self._renewed_spec({})})
        else:
            spec = self._renewed_spec(get_object(lease, "spec"))
            written = self._write("PUT", self._path(self.name), {**lease, "spec": spec})
        if holder(written) != self.identity:
            raise ApiError(ErrorReason.UNEXPECTED, f"Lease {self.namespace}/{self.name}: the holder was not written")
        return written

    def release(self) -> None:
        """Clears the holder, so that another replica acquires the lease at once. No effect if it is not held."""
        lease = self.read()
        if lease is not None and holder(lease) == self.identity:
            spec = {**get_object(lease, "spec"), "holderIdentity": ""}
            self._write("PUT", self._path(self.name), {**lease, "spec": spec})

    def _renewed_spec(self, spec: Mapping[str, object]) -> JsonObject:
        """The Lease's spec, held by this replica from now on."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        renewed: JsonObject = {**spec, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
        if spec.get("holderIdentity") != self.identity:
            transitions = spec.get("leaseTransitions", 0)
            renewed |= {"holderIdentity": self.identity, "acquireTime": now}
            renewed["leaseTransitions"] = transitions + 1 if isinstance(transitions, int) and spec else 0
        return renewed

    def _write(self, method: str, url_path: str, body: JsonObject) -> JsonObject:
        return self._api.call(method, url_path, body=body, read_seconds=CALL_SECONDS)

    def _path(self, *name: str) -> str:
        return path("coordination.k8s.io/v1", "leases", self.namespace, *name)


class LeaderElector:
    """Acquires and renews the lock until `stop` is set. Calls `changed(is_leader)` when this replica gains or loses
    leadership, and `failed(error)` after a failed call."""

    def __init__(
        self,
        lock: LeaseLock,
        stop: threading.Event,
        changed: Callable[[bool], None],
        failed: Callable[[ApiError], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` returns seconds and is never set back."""
        self._lock, self._stop, self._changed, self._failed, self._clock = lock, stop, changed, failed, clock
        self._leader_until = -1.0
        self._reported = False
        self._record: object = None
        """The spec of the Lease, as last observed."""
        self._record_changed_at = 0.0
        """When this replica first observed `_record`."""
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
        try:
            acquired = self._acquire_or_renew()
        except ApiError as error:
            acquired = False
            # Another replica was faster.
            if error.reason not in (ErrorReason.CONFLICT, ErrorReason.ALREADY_EXISTS):
                self._failed(error)
        if acquired:
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
        try:
            self._lock.release()
        except ApiError as error:
            self._failed(error)

    def _acquire_or_renew(self) -> bool:
        lease = self._lock.read()
        self._observe(lease)
        if lease is not None and holder(lease) not in ("", self._lock.identity):
            self._leader_until = -1.0
            if self._clock() < self._record_changed_at + _duration(lease):
                return False
        self._observe(self._lock.hold(lease))
        return True

    def _observe(self, lease: JsonObject | None) -> None:
        record = lease.get("spec") if lease is not None else None
        if record != self._record:
            self._record, self._record_changed_at = record, self._clock()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.step()
            except Exception:
                _log.exception("leader election failed, retrying")
            self._stop.wait(RETRY_SECONDS)

    def _report(self, is_leader: bool) -> None:
        if is_leader != self._reported:
            self._reported = is_leader
            self._changed(is_leader)


def holder(lease: JsonObject) -> str:
    """The identity of the replica that holds the lease; empty if it is released."""
    return get_text(lease, "spec", "holderIdentity") or ""


def _duration(lease: JsonObject) -> int:
    """Seconds after which an unchanged record is expired: as the holder wrote them; its version may use others."""
    seconds = get_object(lease, "spec").get("leaseDurationSeconds")
    return max(LEASE_SECONDS, min(seconds, MAX_LEASE_SECONDS)) if isinstance(seconds, int) else LEASE_SECONDS
