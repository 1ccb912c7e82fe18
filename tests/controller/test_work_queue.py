"""The work queue: each key once, one worker per key, fair over namespaces, and back-off of keys and of namespaces."""

import random
import threading
import tracemalloc

import pytest

from webhook.cluster.api_errors import Scope
from webhook.controller.namespace_keys import MAX_SECONDS, NEW_SECONDS, TRIAL_SECONDS
from webhook.controller.results import Result
from webhook.controller.work_queue import BACKOFF, INVALID_PER_SECOND, WorkQueue

DONE, CREATED = Result(), Result(created=True)
UNAVAILABLE = Result(requeue=True)
INVALID = Result(requeue=True, scope=Scope.POD)
QUOTA = Result(requeue=True, scope=Scope.NAMESPACE, reason="QuotaExceeded")
TERMINATING = Result(scope=Scope.NAMESPACE, reason="NamespaceTerminating")
REFUSED = Result(requeue=True, scope=Scope.NAMESPACE, reason="AdmissionRefused")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Fixture:
    """A queue and its clock, with the result that each key's next attempts have: CREATED if it is not in `results`."""

    def __init__(self, workers: int = 2) -> None:
        self.clock = Clock()
        self.queue = WorkQueue(workers, self.clock)
        self.results: dict[str, Result] = {}

    def add(self, *keys: str) -> None:
        self.queue.add_all(list(keys))

    def attempt(self) -> str | None:
        key = self.queue.get(timeout=0)
        if key is not None:
            self.queue.done(key, self.results.get(key, CREATED))
        return key

    def attempts(self, seconds: float = 0) -> list[str]:
        """The keys that one worker takes within that time, which passes in steps of 50 ms."""
        taken, end = [], self.clock.now + seconds
        while True:
            while (key := self.attempt()) is not None:
                taken.append(key)
            if self.clock.now >= end:
                return taken
            self.clock.now += 0.05


@pytest.fixture
def fixture() -> Fixture:
    return Fixture()


def keys(namespace: str, count: int) -> list[str]:
    return [f"{namespace}/pod-{number}" for number in range(count)]


def refuse(fixture: Fixture, count: int, result: Result = QUOTA, namespace: str = "big") -> list[str]:
    """Adds keys of a namespace that is refused."""
    added = keys(namespace, count)
    fixture.results |= dict.fromkeys(added, result)
    fixture.add(*added)
    return added


def test_keys_are_processed_once_in_order_of_arrival(fixture: Fixture) -> None:
    fixture.add("n/a")
    fixture.add("n/b", "n/a", "n/c", "n/b")
    assert fixture.queue.depth == 3
    assert fixture.attempts() == ["n/a", "n/b", "n/c"]


def test_a_key_added_while_it_is_processed_is_queued_when_its_worker_is_done(fixture: Fixture) -> None:
    fixture.add("n/a")
    assert fixture.queue.get(timeout=0) == "n/a"
    fixture.add("n/a", "n/a")
    assert fixture.attempts() == []
    fixture.queue.done("n/a", DONE)
    assert fixture.attempts() == ["n/a"]


def test_namespaces_take_turns(fixture: Fixture) -> None:
    fixture.add(*keys("big", 1000), *keys("small", 2), *keys("other", 1))
    taken = [fixture.attempt() for _ in range(7)]
    assert [str(key).partition("/")[0] for key in taken] == ["big", "small", "other", "big", "small", "big", "big"]


def test_one_namespace_leaves_a_worker_to_the_others() -> None:
    fixture = Fixture(workers=8)
    fixture.add(*keys("slow", 20))
    taken = [fixture.queue.get(timeout=0) for _ in range(8)]
    assert taken[7] is None
    fixture.add("other/pod")
    assert fixture.queue.get(timeout=0) == "other/pod"
    fixture.queue.done(str(taken[0]), DONE)
    assert fixture.queue.get(timeout=0) == "slow/pod-7"


def test_new_keys_come_before_retries_which_keep_a_share(fixture: Fixture) -> None:
    retries = keys("old", 4)
    fixture.results = dict.fromkeys(retries, UNAVAILABLE)
    fixture.add(*retries)
    fixture.attempts()
    fixture.results.clear()
    fixture.clock.now += BACKOFF.first
    fixture.add(*keys("old", 9)[4:], *keys("other", 7))
    order = ["retry" if key in retries else "new" for key in fixture.attempts()]
    assert order[:3] == ["new"] * 3
    assert order.index("retry") == 3
    assert order.count("retry") == 4
    assert "retry" in order[4:8]


def test_failures_in_a_row_double_the_delay_up_to_the_maximum(fixture: Fixture) -> None:
    fixture.results["n/a"] = UNAVAILABLE
    fixture.add("n/a")
    fixture.attempts()
    for failures in range(12):
        ceiling = min(BACKOFF.maximum, BACKOFF.first * 2**failures)
        fixture.clock.now += ceiling * 0.49
        assert fixture.attempts() == []
        fixture.clock.now += ceiling * 0.52
        assert fixture.attempts() == ["n/a"]
    assert fixture.queue.retrying == 1
    fixture.queue.wake("n/a")
    fixture.results["n/a"] = CREATED
    assert fixture.attempts() == ["n/a"]
    assert fixture.queue.retrying == 0


def test_retry_after_extends_the_back_off(fixture: Fixture) -> None:
    fixture.results["n/a"] = Result(requeue=True, requeue_after=120)
    fixture.add("n/a")
    fixture.attempts()
    fixture.clock.now += 119
    assert fixture.attempts() == []
    fixture.clock.now += 1
    assert fixture.attempts() == ["n/a"]


@pytest.mark.parametrize("result", [UNAVAILABLE, INVALID, QUOTA], ids=["server", "pod", "namespace"])
def test_updates_of_a_failing_pod_cause_no_additional_attempts(result: Result, fixture: Fixture) -> None:
    """600 updates in 22 seconds once caused 660 attempts a minute."""
    quiet = Fixture()
    for each in (fixture, quiet):
        each.results["n/a"] = result
        each.add("n/a")
    expected = len(quiet.attempts(22))
    attempts = 0
    for _ in range(600):
        fixture.add("n/a")
        attempts += len(fixture.attempts())
        fixture.clock.now += 22 / 600
    assert attempts <= expected + 2


def test_an_update_during_an_attempt_that_fails_does_not_end_the_back_off(fixture: Fixture) -> None:
    fixture.add("n/a")
    fixture.queue.get(timeout=0)
    fixture.add("n/a")
    fixture.queue.done("n/a", UNAVAILABLE)
    assert fixture.attempts() == []
    assert fixture.attempts(BACKOFF.first + 0.05) == ["n/a"]


def test_a_woken_key_is_queued_at_once_also_if_it_is_being_processed(fixture: Fixture) -> None:
    fixture.results["n/a"] = UNAVAILABLE
    fixture.add("n/a")
    fixture.attempts(20)
    fixture.queue.wake("n/a")
    assert fixture.queue.get(timeout=0) == "n/a"
    fixture.queue.wake("n/a")
    fixture.queue.done("n/a", UNAVAILABLE)
    assert fixture.attempts() == ["n/a"]


def test_pods_that_fail_for_a_reason_of_their_own_are_retried_at_a_bounded_rate(fixture: Fixture) -> None:
    invalid = refuse(fixture, 500, INVALID)
    assert fixture.attempts() == invalid
    attempts = len(fixture.attempts(1000))
    assert 500 <= attempts <= 1000 * INVALID_PER_SECOND * 1.5
    # The namespace does not back off.
    fixture.add("big/good")
    assert fixture.attempts()[0] == "big/good"
    assert not fixture.queue.namespaces_backing_off


def test_a_namespace_that_is_refused_is_tried_with_one_key_at_a_time() -> None:
    fixture = Fixture(workers=8)
    refuse(fixture, 1000)
    taken = [str(fixture.queue.get(timeout=0)) for _ in range(7)]
    for key in taken:
        fixture.queue.done(key, QUOTA)
    assert fixture.queue.namespaces_backing_off == {"QuotaExceeded": 1}
    # A key that was never tried, and one of the refused.
    fixture.clock.now += TRIAL_SECONDS
    assert [fixture.queue.get(timeout=0) for _ in range(3)] == ["big/pod-7", "big/pod-0", None]
    fixture.add("other/pod")
    assert fixture.queue.get(timeout=0) == "other/pod"


def test_a_refused_namespace_costs_few_calls_whatever_it_does(fixture: Fixture) -> None:
    refused = refuse(fixture, 5000)
    assert len(fixture.attempts(600)) <= 600 / (NEW_SECONDS / 2) + 600 / (TRIAL_SECONDS / 2) + 20
    # The same after a change of leader, and for pods that are created and deleted.
    fixture.queue.clear()
    fixture.add(*refused)
    assert len(fixture.attempts(10)) <= 20
    attempts = 0
    for key in refused[:2000]:
        fixture.queue.discard(key)
        fixture.add(key)
        attempts += len(fixture.attempts(0.01))
    assert attempts <= 100


def test_the_pods_of_a_terminating_namespace_are_tried_once_each_at_a_low_rate(fixture: Fixture) -> None:
    refuse(fixture, 40, TERMINATING)
    assert len(fixture.attempts(10)) <= 20
    assert fixture.queue.namespaces_backing_off == {"NamespaceTerminating": 1}
    fixture.attempts(100)
    assert fixture.queue.retrying == fixture.queue.depth == 0
    fixture.attempts(MAX_SECONDS)
    assert not fixture.queue._namespaces


def test_every_key_of_a_refused_namespace_gets_its_turn(fixture: Fixture) -> None:
    refused = refuse(fixture, 10)
    assert set(fixture.attempts(60)) == set(refused)
    taken = fixture.attempts(20 * MAX_SECONDS)
    counts = [taken.count(key) for key in refused]
    assert min(counts) >= 10
    assert max(counts) - min(counts) <= 1


def test_a_new_pod_that_fits_is_soon_tried_in_a_refused_namespace(fixture: Fixture) -> None:
    refuse(fixture, 100)
    fixture.attempts(2000)
    fixture.add("big/small")
    taken = fixture.attempts(NEW_SECONDS)
    assert "big/small" in taken
    assert len(taken) <= 3


def test_a_success_ends_the_back_off(fixture: Fixture) -> None:
    refused = refuse(fixture, 300)
    fixture.attempts(2000)
    fixture.results.clear()
    assert set(fixture.attempts(TRIAL_SECONDS + 0.1)) == set(refused)
    assert fixture.queue.retrying == fixture.queue.depth == 0
    assert not fixture.queue.namespaces_backing_off


def test_another_failure_after_a_success_starts_with_a_short_back_off(fixture: Fixture) -> None:
    refused = refuse(fixture, 10)
    fixture.attempts(600)
    del fixture.results[refused[3]]
    fixture.attempts(2 * MAX_SECONDS)
    assert len(fixture.attempts(600)) <= 600 / (TRIAL_SECONDS / 2)
    fixture.results.clear()
    assert len(fixture.attempts(MAX_SECONDS / 9 + 0.1)) == 9


def test_the_end_of_one_reason_leaves_the_others(fixture: Fixture) -> None:
    quota = refuse(fixture, 3)
    refused = refuse(fixture, 3, REFUSED, "big2")
    fixture.attempts(100)
    assert fixture.queue.namespaces_backing_off == {"QuotaExceeded": 1, "AdmissionRefused": 1}
    for key in quota:
        fixture.results[key] = REFUSED
    fixture.attempts(5 * MAX_SECONDS)
    assert fixture.queue.namespaces_backing_off == {"AdmissionRefused": 2}
    assert len(refused) == 3


def test_room_that_is_freed_ends_the_back_off(fixture: Fixture) -> None:
    refused = refuse(fixture, 3)
    fixture.attempts(600)
    fixture.results.clear()
    fixture.queue.end_backoff("big", "AdmissionRefused")
    fixture.queue.end_backoff("other", "QuotaExceeded")
    fixture.queue.end_backoff("big", "QuotaExceeded")
    assert set(fixture.attempts(1)) == set(refused)


def test_room_that_is_freed_does_not_begin_a_back_off_that_has_ended() -> None:
    fixture = Fixture(workers=3)
    refused = refuse(fixture, 3)
    fixture.attempts(600)
    fixture.results.clear()
    while fixture.attempt() is None:
        fixture.clock.now += 0.05
    fixture.queue.end_backoff("big", "QuotaExceeded")
    assert fixture.queue.namespaces_backing_off == {}
    # Not one at a time.
    assert len({fixture.queue.get(timeout=0), fixture.queue.get(timeout=0)} & {*refused}) == 2


def test_room_that_is_freed_again_and_again_causes_few_attempts(fixture: Fixture) -> None:
    refuse(fixture, 1000)
    fixture.attempts(600)
    attempts = 0
    for _ in range(1000):
        fixture.queue.end_backoff("big", "QuotaExceeded")
        attempts += len(fixture.attempts(0.05))
    assert attempts <= 50 * 8


def test_a_server_that_is_unavailable_does_not_release_a_refused_namespace(fixture: Fixture) -> None:
    refused = refuse(fixture, 1000)
    fixture.attempts(60)
    fixture.results = dict.fromkeys(refused, UNAVAILABLE)
    assert len(fixture.attempts(60)) <= 100
    fixture.results = dict.fromkeys(refused, QUOTA)
    assert len(fixture.attempts(60)) <= 100


def test_a_key_that_is_gone_is_not_attempted_and_not_counted(fixture: Fixture) -> None:
    for key in refuse(fixture, 20):
        fixture.attempts(0.5)
        fixture.queue.discard(key)
    fixture.queue.discard("big/unknown")
    assert fixture.queue.retrying == fixture.queue.depth == 0
    assert fixture.attempts(2 * MAX_SECONDS) == []
    assert not fixture.queue._namespaces


def test_oldest_seconds_are_those_of_the_key_that_has_waited_longest_for_a_worker(fixture: Fixture) -> None:
    assert fixture.queue.oldest_seconds == 0
    fixture.add("n/a")
    fixture.clock.now += 5
    fixture.add("n/b", "n/a")
    fixture.clock.now += 2
    assert fixture.queue.oldest_seconds == 7
    fixture.attempt()
    assert fixture.queue.oldest_seconds == 2
    fixture.attempt()
    # Keys that back off do not wait for a worker, not even when the back-off has ended.
    refuse(fixture, 20)
    fixture.attempts(300)
    assert (fixture.queue.oldest_seconds, fixture.queue.depth, fixture.queue.retrying) == (0, 0, 20)
    fixture.results.clear()
    fixture.clock.now += 2 * MAX_SECONDS
    fixture.attempt()
    assert (fixture.queue.oldest_seconds, fixture.queue.depth) == (0, 19)


def test_clear_drops_all_keys_and_back_offs(fixture: Fixture) -> None:
    refuse(fixture, 5)
    fixture.results["n/a"] = UNAVAILABLE
    fixture.add("n/a", "n/b")
    fixture.attempts()
    fixture.add("n/c")
    assert fixture.queue.get(timeout=0) == "n/c"
    fixture.queue.clear()
    assert fixture.queue.retrying == fixture.queue.depth == 0
    fixture.add("n/c")
    assert fixture.attempts(MAX_SECONDS) == []
    fixture.queue.done("n/c", DONE)
    assert fixture.attempts() == ["n/c"]


def test_ten_thousand_keys_need_few_megabytes() -> None:
    added = [key for number in range(10) for key in keys(f"namespace-{number}", 1000)]
    tracemalloc.start()
    try:
        fixture = Fixture()
        fixture.results = dict.fromkeys(added[:5000], QUOTA) | dict.fromkeys(added[5000:], UNAVAILABLE)
        fixture.add(*added)
        fixture.attempts(60)
        used = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert used < 8 << 20


def test_close_wakes_every_worker() -> None:
    queue = WorkQueue()
    got: list[str | None] = []
    workers = [threading.Thread(target=lambda: got.append(queue.get(timeout=60))) for _ in range(3)]
    for worker in workers:
        worker.start()
    queue.close()
    for worker in workers:
        worker.join(10)
    assert got == [None] * 3
    queue.add("n/late")
    assert queue.get(timeout=0) is None


def test_add_wakes_a_waiting_worker() -> None:
    queue = WorkQueue()
    got: list[str | None] = []
    worker = threading.Thread(target=lambda: got.append(queue.get(timeout=60)))
    worker.start()
    queue.add("n/a")
    worker.join(10)
    assert got == ["n/a"]


def test_no_two_workers_process_the_same_key_and_none_is_lost() -> None:
    """Random results and calls; at the end everything succeeds and the queue is empty."""
    queue, chance = WorkQueue(8), random.Random(1)  # noqa: S311
    working: set[str] = set()
    lock, clashes, ended = threading.Lock(), [], threading.Event()
    results = (DONE, CREATED, UNAVAILABLE, INVALID, QUOTA, REFUSED)
    names = [f"n{number % 5}/key-{number}" for number in range(60)]

    def work() -> None:
        while not ended.is_set() or queue.depth or queue.retrying:
            key = queue.get(timeout=0.05)
            if key is None:
                continue
            with lock:
                if key in working:
                    clashes.append(key)
                working.add(key)
            result = CREATED if ended.is_set() else chance.choice(results)
            with lock:
                working.discard(key)
            queue.done(key, result)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for _ in range(4000):
        key = chance.choice(names)
        chance.choice((queue.add, queue.add, queue.wake, queue.discard))(key)
        queue.end_backoff(key.partition("/")[0], "QuotaExceeded")
    for _ in range(3):
        queue.clear()
        queue.add_all(names)
    ended.set()
    for worker in workers:
        worker.join(60)
    assert clashes == []
    assert queue.depth == queue.retrying == 0
    assert not any((queue._flows, queue._processing, queue._dirty, len(queue._delayed)))
