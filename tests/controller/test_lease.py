"""Leader election by the lease's own rules, on a clock of the test's."""

import copy
import threading
from typing import cast

import pytest
from kubernetes.leaderelection.leaderelectionrecord import LeaderElectionRecord

from webhook.cluster.api import Api, JsonObject
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.leader_election import RENEW_SECONDS, LeaderElector, LeaseLock


class Leases:
    """The one Lease of an API server, with its optimistic locking."""

    def __init__(self) -> None:
        self.lease: JsonObject | None = None
        self.down = False
        self.slow = 0.0
        self.version = 0
        self.now = 1000.0

    def call(self, method: str, path: str, *, body: JsonObject | None = None, **more: object) -> JsonObject:
        self.now += self.slow
        if self.down:
            raise ApiError(ErrorReason.UNREACHABLE, "down")
        if method == "GET":
            if self.lease is None:
                raise ApiError(ErrorReason.NOT_FOUND, "no lease", 404)
            return copy.deepcopy(self.lease)
        assert body is not None
        sent = cast(dict[str, object], body["metadata"])
        if method == "POST" and self.lease is not None:
            raise ApiError(ErrorReason.ALREADY_EXISTS, "there is one", 409)
        if method == "PUT" and sent.get("resourceVersion") != str(self.version):
            raise ApiError(ErrorReason.CONFLICT, "changed", 409)
        self.version += 1
        self.lease = {**copy.deepcopy(body), "metadata": {**sent, "resourceVersion": str(self.version)}}
        return copy.deepcopy(self.lease)

    @property
    def spec(self) -> dict[str, object]:
        assert self.lease is not None
        return cast(dict[str, object], self.lease["spec"])


class Replica:
    def __init__(self, leases: Leases, identity: str) -> None:
        self.changes: list[bool] = []
        self.lock = LeaseLock(cast(Api, leases), "modelfit", "modelfit-controller", identity)
        self.elector = LeaderElector(self.lock, threading.Event(), self.changes.append, lambda: leases.now)


@pytest.fixture
def leases() -> Leases:
    return Leases()


@pytest.fixture
def first(leases: Leases) -> Replica:
    return Replica(leases, "first")


@pytest.fixture
def second(leases: Leases) -> Replica:
    return Replica(leases, "second")


def test_the_first_one_that_asks_leads_and_the_other_waits(leases: Leases, first: Replica, second: Replica) -> None:
    first.elector.step()
    second.elector.step()
    assert (first.elector.leading, second.elector.leading) == (True, False)
    assert (first.changes, second.changes) == ([True], [])
    assert leases.spec["holderIdentity"] == "first"
    assert leases.spec["leaseTransitions"] == 0


def test_a_renewal_keeps_the_time_of_the_acquisition(leases: Leases, first: Replica) -> None:
    first.elector.step()
    before = dict(leases.spec)
    first.elector.step()
    assert leases.spec["acquireTime"] == before["acquireTime"]
    assert leases.spec["renewTime"] != before["renewTime"]
    assert first.changes == [True]


def test_a_leader_that_reaches_nobody_ceases_by_itself(leases: Leases, first: Replica) -> None:
    first.elector.step()
    leases.down = True
    seen = []
    for seconds in (RENEW_SECONDS - 0.1, 0.2):
        # Without a step: its loop may hang in a call.
        leases.now += seconds
        seen.append(first.elector.leading)
    assert seen == [True, False]
    first.elector.step()
    assert first.changes == [True, False]


def test_a_lease_counts_from_before_the_call_that_renewed_it(leases: Leases, first: Replica) -> None:
    leases.slow = 3
    first.elector.step()
    leases.slow = 0
    leases.now += RENEW_SECONDS - 5
    assert not first.elector.leading


def test_leading_that_lapsed_during_a_renewal_begins_anew(leases: Leases, first: Replica) -> None:
    """What came while it did not lead was not queued, so it has to look at everything again."""
    first.elector.step()
    leases.now += RENEW_SECONDS + 1
    first.elector.step()
    assert first.changes == [True, False, True]
    assert first.elector.leading


def test_a_released_lease_is_taken_at_once(leases: Leases, first: Replica, second: Replica) -> None:
    first.elector.step()
    second.elector.step()
    first.lock.release()
    assert leases.spec["holderIdentity"] == ""
    second.elector.step()
    assert second.elector.leading
    assert leases.spec["leaseTransitions"] == 1


def test_a_lease_that_is_not_held_is_not_released(leases: Leases, first: Replica, second: Replica) -> None:
    first.elector.step()
    second.lock.release()
    assert leases.spec["holderIdentity"] == "first"


def test_a_lease_that_changed_under_it_is_not_taken(leases: Leases, first: Replica) -> None:
    first.elector.step()
    first.lock.get("modelfit-controller", "modelfit")
    leases.version += 1
    record = LeaderElectionRecord("first", "12", "", "")  # type: ignore[no-untyped-call]
    assert first.lock.update("modelfit-controller", "modelfit", record) is False
    assert first.lock.create("modelfit-controller", "modelfit", record) is False


def test_an_api_server_that_is_down_makes_nobody_a_leader(leases: Leases, first: Replica) -> None:
    leases.down = True
    first.elector.step()
    assert not first.elector.leading
    assert first.changes == []
