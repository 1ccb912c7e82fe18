"""The work queue: once each, one worker a key, and patience with what fails. Time is the test's."""

import threading

import pytest

from webhook.controller.work_queue import FIRST_PAUSE, LONGEST_PAUSE, WorkQueue


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> WorkQueue:
    return WorkQueue(clock)


def taken(queue: WorkQueue) -> list[str]:
    """Takes all that can be taken now."""
    keys = []
    while (key := queue.get(timeout=0)) is not None:
        keys.append(key)
    return keys


def test_keys_come_in_their_order_each_once(queue: WorkQueue) -> None:
    queue.add("a")
    queue.add_all(["b", "a", "c", "b"])
    assert queue.depth == 3
    assert taken(queue) == ["a", "b", "c"]


def test_what_comes_while_a_worker_has_it_comes_up_when_that_worker_is_done(queue: WorkQueue) -> None:
    queue.add("a")
    assert queue.get(timeout=0) == "a"
    queue.add("a")
    queue.add("a")
    assert taken(queue) == []
    queue.done("a")
    assert taken(queue) == ["a"]


def test_a_key_that_is_done_can_come_again(queue: WorkQueue) -> None:
    for _ in range(2):
        queue.add("a")
        assert taken(queue) == ["a"]
        queue.done("a")


def test_failures_in_a_row_double_the_pause_up_to_the_longest(queue: WorkQueue, clock: Clock) -> None:
    pauses = []
    for _ in range(12):
        pauses.append(queue.retry("a"))
        clock.now += pauses[-1]
        assert taken(queue) == ["a"]
        queue.done("a")
    for count, pause in enumerate(pauses):
        most = min(LONGEST_PAUSE, FIRST_PAUSE * 2**count)
        assert most / 2 <= pause <= most
    assert queue.retrying == 1


def test_a_key_waits_out_its_pause(queue: WorkQueue, clock: Clock) -> None:
    pause = queue.retry("a")
    clock.now += pause * 0.99
    assert taken(queue) == []
    clock.now += pause * 0.02
    assert taken(queue) == ["a"]


def test_the_api_server_may_ask_for_a_longer_pause(queue: WorkQueue, clock: Clock) -> None:
    assert queue.retry("a", at_least=120) == 120
    clock.now += 119
    assert taken(queue) == []
    clock.now += 1
    assert taken(queue) == ["a"]


def test_after_a_success_the_next_failure_is_the_first(queue: WorkQueue) -> None:
    for _ in range(8):
        queue.retry("a")
    queue.forget("a")
    assert queue.retrying == 0
    assert queue.retry("a") <= FIRST_PAUSE


def test_news_of_a_key_does_not_wait_for_its_pause(queue: WorkQueue) -> None:
    queue.retry("a", at_least=60)
    queue.add("a")
    assert taken(queue) == ["a"]


def test_its_age_is_that_of_the_key_that_waits_longest(queue: WorkQueue, clock: Clock) -> None:
    assert queue.age == 0
    queue.add("a")
    clock.now += 5
    queue.add("b")
    clock.now += 2
    # News of a key does not make it wait less.
    queue.add("a")
    assert queue.age == 7
    queue.get(timeout=0)
    assert queue.age == 2


def test_cleared_it_holds_nothing(queue: WorkQueue, clock: Clock) -> None:
    queue.add("a")
    queue.retry("b")
    queue.clear()
    clock.now += LONGEST_PAUSE
    assert taken(queue) == []
    assert queue.retrying == 0


def test_closing_it_ends_the_wait_of_every_worker() -> None:
    queue = WorkQueue()
    got: list[str | None] = []
    workers = [threading.Thread(target=lambda: got.append(queue.get(timeout=60))) for _ in range(3)]
    for worker in workers:
        worker.start()
    queue.close()
    for worker in workers:
        worker.join(10)
    assert got == [None] * 3
    queue.add("late")
    assert queue.get(timeout=0) is None


def test_a_worker_that_waits_is_woken_by_a_key() -> None:
    queue = WorkQueue()
    got: list[str | None] = []
    worker = threading.Thread(target=lambda: got.append(queue.get(timeout=60)))
    worker.start()
    queue.add("a")
    worker.join(10)
    assert got == ["a"]


def test_no_two_workers_have_one_key_at_a_time() -> None:
    queue = WorkQueue()
    working: set[str] = set()
    lock, clashes, seen = threading.Lock(), [], []

    def work() -> None:
        while (key := queue.get(timeout=0.2)) is not None:
            with lock:
                if key in working:
                    clashes.append(key)
                working.add(key)
                seen.append(key)
            with lock:
                working.discard(key)
            queue.done(key)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for number in range(4000):
        queue.add(f"key-{number % 7}")
    for worker in workers:
        worker.join(30)
    assert clashes == []
    assert set(seen) == {f"key-{number}" for number in range(7)}
