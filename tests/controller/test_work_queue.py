"""The work queue: each key once, one worker per key, and back-off after failures."""

import threading

import pytest

from webhook.controller.work_queue import BACKOFF, WorkQueue


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


def drain(queue: WorkQueue) -> list[str]:
    """Gets all queued keys."""
    keys = []
    while (key := queue.get(timeout=0)) is not None:
        keys.append(key)
    return keys


def test_keys_are_processed_once_in_order_of_arrival(queue: WorkQueue) -> None:
    queue.add("a")
    queue.add_all(["b", "a", "c", "b"])
    assert queue.depth == 3
    assert drain(queue) == ["a", "b", "c"]


def test_a_key_added_while_it_is_processed_is_queued_when_its_worker_is_done(queue: WorkQueue) -> None:
    queue.add("a")
    assert queue.get(timeout=0) == "a"
    queue.add("a")
    queue.add("a")
    assert drain(queue) == []
    queue.done("a")
    assert drain(queue) == ["a"]


def test_a_key_that_is_done_can_be_added_again(queue: WorkQueue) -> None:
    for _ in range(2):
        queue.add("a")
        assert drain(queue) == ["a"]
        queue.done("a")


def test_failures_in_a_row_double_the_delay_up_to_the_maximum(queue: WorkQueue, clock: Clock) -> None:
    delays = []
    for _ in range(12):
        delays.append(queue.retry("a"))
        clock.now += delays[-1]
        assert drain(queue) == ["a"]
        queue.done("a")
    for failures, delay in enumerate(delays):
        ceiling = min(BACKOFF.maximum, BACKOFF.first * 2**failures)
        assert ceiling / 2 <= delay <= ceiling
    assert queue.retrying == 1


def test_a_retried_key_is_queued_after_its_delay(queue: WorkQueue, clock: Clock) -> None:
    delay = queue.retry("a")
    clock.now += delay * 0.99
    assert drain(queue) == []
    clock.now += delay * 0.02
    assert drain(queue) == ["a"]


def test_a_minimum_delay_extends_the_back_off(queue: WorkQueue, clock: Clock) -> None:
    assert queue.retry("a", min_delay=120) == 120
    clock.now += 119
    assert drain(queue) == []
    clock.now += 1
    assert drain(queue) == ["a"]


def test_a_success_resets_the_back_off(queue: WorkQueue) -> None:
    for _ in range(8):
        queue.retry("a")
    queue.forget("a")
    assert queue.retrying == 0
    assert queue.retry("a") <= BACKOFF.first


def test_adding_a_delayed_key_queues_it_at_once(queue: WorkQueue) -> None:
    queue.retry("a", min_delay=60)
    queue.add("a")
    assert drain(queue) == ["a"]


def test_age_is_that_of_the_oldest_queued_key(queue: WorkQueue, clock: Clock) -> None:
    assert queue.age == 0
    queue.add("a")
    clock.now += 5
    queue.add("b")
    clock.now += 2
    # Adding it again does not reset its age.
    queue.add("a")
    assert queue.age == 7
    queue.get(timeout=0)
    assert queue.age == 2


def test_clear_drops_queued_and_delayed_keys(queue: WorkQueue, clock: Clock) -> None:
    queue.add("a")
    queue.retry("b")
    queue.clear()
    clock.now += BACKOFF.maximum
    assert drain(queue) == []
    assert queue.retrying == 0


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
    queue.add("late")
    assert queue.get(timeout=0) is None


def test_add_wakes_a_waiting_worker() -> None:
    queue = WorkQueue()
    got: list[str | None] = []
    worker = threading.Thread(target=lambda: got.append(queue.get(timeout=60)))
    worker.start()
    queue.add("a")
    worker.join(10)
    assert got == ["a"]


def test_no_two_workers_process_the_same_key() -> None:
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
