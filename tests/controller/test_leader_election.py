"""Leader election on a Lease with optimistic locking, with a fake clock."""

import copy
import threading
import time
from typing import cast

import pytest

from webhook.cluster import leader_election
from webhook.cluster.api import Api
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.leader_election import LEASE_SECONDS, MAX_LEASE_SECONDS, RENEW_SECONDS, LeaderElector, LeaseLock
from webhook.json_tree import JsonObject


class LeaseServer:
    """An API server with one Lease."""

    def __init__(self) -> None:
        self.lease: JsonObject | None = None
        self.down = False
        self.call_seconds = 0.0
        self.version = 0
        self.now = 1000.0

    def call(self, method: str, path: str, *, body: JsonObject | None = None, **options: object) -> JsonObject:
        self.now += self.call_seconds
        if self.down:
            raise ApiError(ErrorReason.UNREACHABLE, "down")
        if method == "GET":
            if self.lease is None:
                raise ApiError(ErrorReason.NOT_FOUND, "no lease", 404)
            return copy.deepcopy(self.lease)
        assert body is not None
        metadata = cast(dict[str, object], body["metadata"])
        if method == "POST" and self.lease is not None:
            raise ApiError(ErrorReason.ALREADY_EXISTS, "there is one", 409)
        if method == "PUT" and metadata.get("resourceVersion") != str(self.version):
            raise ApiError(ErrorReason.CONFLICT, "changed", 409)
        self.version += 1
        self.lease = {**copy.deepcopy(body), "metadata": {**metadata, "resourceVersion": str(self.version)}}
        return copy.deepcopy(self.lease)

    @property
    def spec(self) -> dict[str, object]:
        assert self.lease is not None
        return cast(dict[str, object], self.lease["spec"])


class Replica:
    def __init__(self, server: LeaseServer, identity: str) -> None:
        self.changes: list[bool] = []
        self.errors: list[ErrorReason] = []
        self.lock = LeaseLock(cast(Api, server), "modelfit", "modelfit-controller", identity)
        self.elector = LeaderElector(
            self.lock,
            threading.Event(),
            self.changes.append,
            lambda error: self.errors.append(error.reason),
            lambda: server.now,
        )


@pytest.fixture
def server() -> LeaseServer:
    return LeaseServer()


@pytest.fixture
def first(server: LeaseServer) -> Replica:
    return Replica(server, "first")


@pytest.fixture
def second(server: LeaseServer) -> Replica:
    return Replica(server, "second")


def test_the_first_replica_becomes_leader_and_the_other_waits(
    server: LeaseServer, first: Replica, second: Replica
) -> None:
    first.elector.step()
    second.elector.step()
    assert (first.elector.is_leader, second.elector.is_leader) == (True, False)
    assert (first.changes, second.changes) == ([True], [])
    assert server.spec["holderIdentity"] == "first"
    assert server.spec["leaseTransitions"] == 0


def test_a_renewal_keeps_the_acquire_time(server: LeaseServer, first: Replica) -> None:
    first.elector.step()
    before = dict(server.spec)
    first.elector.step()
    assert server.spec["acquireTime"] == before["acquireTime"]
    assert server.spec["renewTime"] != before["renewTime"]
    assert first.changes == [True]


def test_a_leader_that_cannot_renew_loses_leadership_by_itself(server: LeaseServer, first: Replica) -> None:
    first.elector.step()
    server.down = True
    observed = []
    for seconds in (RENEW_SECONDS - 0.1, 0.2):
        # Without a step, as if the loop hung in a call.
        server.now += seconds
        observed.append(first.elector.is_leader)
    assert observed == [True, False]
    first.elector.step()
    assert first.changes == [True, False]


def test_a_lease_counts_from_the_start_of_the_call_that_renewed_it(server: LeaseServer, first: Replica) -> None:
    server.call_seconds = 3
    first.elector.step()
    server.call_seconds = 0
    server.now += RENEW_SECONDS - 5
    assert not first.elector.is_leader


def test_leadership_that_expired_before_a_renewal_is_reported_as_lost_and_gained(
    server: LeaseServer, first: Replica
) -> None:
    """Changes in between were not queued, so every pod is reconciled again."""
    first.elector.step()
    server.now += RENEW_SECONDS + 1
    first.elector.step()
    assert first.changes == [True, False, True]
    assert first.elector.is_leader


def test_a_released_lease_is_acquired_at_once(server: LeaseServer, first: Replica, second: Replica) -> None:
    first.elector.step()
    second.elector.step()
    first.lock.release()
    assert server.spec["holderIdentity"] == ""
    second.elector.step()
    assert second.elector.is_leader
    assert server.spec["leaseTransitions"] == 1


def test_only_the_holder_releases_a_lease(server: LeaseServer, first: Replica, second: Replica) -> None:
    first.elector.step()
    second.lock.release()
    assert server.spec["holderIdentity"] == "first"


def test_a_lease_that_changed_since_it_was_read_is_not_acquired(server: LeaseServer, first: Replica) -> None:
    first.elector.step()
    lease = first.lock.read()
    server.version += 1
    for stale in (lease, None):
        with pytest.raises(ApiError) as raised:
            first.lock.hold(stale)
        assert raised.value.reason in (ErrorReason.CONFLICT, ErrorReason.ALREADY_EXISTS)


def test_no_replica_becomes_leader_while_the_api_server_is_down(server: LeaseServer, first: Replica) -> None:
    server.down = True
    first.elector.step()
    assert not first.elector.is_leader
    assert first.changes == []
    assert first.errors == [ErrorReason.UNREACHABLE]


@pytest.mark.parametrize("shift", [-3600, 3600])
def test_a_wall_clock_that_is_set_does_not_change_when_another_replica_takes_over(
    shift: int, server: LeaseServer, first: Replica, second: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    first.elector.step()
    second.elector.step()
    wall_clock = time.time
    monkeypatch.setattr(time, "time", lambda: wall_clock() + shift)
    observed = []
    for seconds in (LEASE_SECONDS - 0.1, 0.2):
        server.now += seconds
        second.elector.step()
        observed.append(second.elector.is_leader)
    assert observed == [False, True]


def test_times_in_the_lease_that_are_wrong_are_ignored(server: LeaseServer, first: Replica, second: Replica) -> None:
    first.elector.step()
    server.spec["renewTime"] = "2001-01-01T00:00:00.000000Z"
    second.elector.step()
    assert not second.elector.is_leader
    # A record that changes is in use, whatever its time.
    for hour in range(3):
        server.now += LEASE_SECONDS - 1
        server.spec["renewTime"] = f"2000-01-01T0{hour}:00:00.000000Z"
        second.elector.step()
        assert not second.elector.is_leader
    server.spec["renewTime"] = "2099-01-01T00:00:00.000000Z"
    second.elector.step()
    server.now += LEASE_SECONDS + 1
    second.elector.step()
    assert second.elector.is_leader


def test_a_leader_that_observes_another_holder_stops_at_once(server: LeaseServer, first: Replica) -> None:
    first.elector.step()
    server.spec["holderIdentity"] = "second"
    first.elector.step()
    assert not first.elector.is_leader
    assert first.changes == [True, False]


@pytest.mark.parametrize(
    ("duration", "seconds"), [(30, 30), (1, LEASE_SECONDS), (86_400, MAX_LEASE_SECONDS), ("soon", LEASE_SECONDS)]
)
def test_the_duration_in_the_record_is_respected_within_limits(
    duration: object, seconds: int, server: LeaseServer, first: Replica, second: Replica
) -> None:
    first.elector.step()
    server.spec["leaseDurationSeconds"] = duration
    second.elector.step()
    server.now += seconds - 0.1
    second.elector.step()
    assert not second.elector.is_leader
    server.now += 0.2
    second.elector.step()
    assert second.elector.is_leader


def test_an_answer_without_the_written_holder_makes_no_leader(
    server: LeaseServer, first: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "call", lambda *_, **__: {"metadata": {"resourceVersion": "1"}})
    first.elector.step()
    assert not first.elector.is_leader
    assert first.errors == [ErrorReason.UNEXPECTED]


def test_the_election_survives_an_exception(server: LeaseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, changes = threading.Event(), threading.Event()
    lock = LeaseLock(cast(Api, server), "modelfit", "modelfit-controller", "first")
    elector = LeaderElector(lock, stop, lambda _: changes.set(), lambda _: None)
    monkeypatch.setattr(leader_election, "RETRY_SECONDS", 0.01)
    with monkeypatch.context() as broken:
        broken.setattr(server, "call", lambda *_, **__: 1 // 0)
        elector.start()
        time.sleep(0.1)
    assert changes.wait(10)
    stop.set()
