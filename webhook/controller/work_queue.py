"""A work queue of keys with the semantics of client-go's workqueue: each key is queued at most once, is processed by
one worker at a time, and is retried with back-off."""

import heapq
import threading
import time
from collections.abc import Callable

from webhook.backoff import Backoff

BACKOFF = Backoff(first=0.25, maximum=60.0)
"""Delays of retries."""


class WorkQueue:
    """Keys are processed in order of arrival. A key that is added while a worker has it is queued again when that
    worker is done."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._condition = threading.Condition()
        self._queued: dict[str, float] = {}
        """Key to time of arrival, in order."""
        self._processing: set[str] = set()
        self._dirty: set[str] = set()
        """Keys that were added while they were processed."""
        self._delayed: list[tuple[float, str]] = []
        """A heap of due times and keys."""
        self._failures: dict[str, int] = {}
        self._closed = False

    def add(self, key: str) -> None:
        with self._condition:
            self._add(key)

    def add_all(self, keys: list[str]) -> None:
        with self._condition:
            for key in keys:
                self._add(key)

    def get(self, timeout: float) -> str | None:
        """The next key, which the worker passes to `done` at the end; None after `timeout` seconds or once closed."""
        deadline = self._clock() + timeout
        with self._condition:
            while not self._closed:
                self._queue_due_keys()
                if self._queued:
                    key = next(iter(self._queued))
                    del self._queued[key]
                    self._processing.add(key)
                    return key
                due = self._delayed[0][0] if self._delayed else deadline
                wait = min(due, deadline) - self._clock()
                if wait <= 0 and deadline <= self._clock():
                    return None
                self._condition.wait(max(wait, 0.001))
            return None

    def done(self, key: str) -> None:
        """The worker has finished with the key, whether it failed (see `retry`) or not."""
        with self._condition:
            self._processing.discard(key)
            if key in self._dirty:
                self._dirty.discard(key)
                self._add(key)

    def retry(self, key: str, min_delay: float = 0.0) -> float:
        """Queues the key again after its back-off, at least `min_delay` seconds. Returns the delay."""
        with self._condition:
            failures = self._failures.get(key, 0) + 1
            self._failures[key] = failures
            delay = max(BACKOFF.delay(failures), min_delay)
            heapq.heappush(self._delayed, (self._clock() + delay, key))
            self._condition.notify()
            return delay

    def forget(self, key: str) -> None:
        """The key succeeded: resets its back-off."""
        with self._condition:
            self._failures.pop(key, None)

    def clear(self) -> None:
        """Drops all queued and delayed keys, and resets all back-offs."""
        with self._condition:
            self._queued.clear()
            self._delayed.clear()
            self._failures.clear()
            self._dirty.clear()

    def close(self) -> None:
        """Makes every `get` return None."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    @property
    def depth(self) -> int:
        """Number of queued keys, without delayed ones."""
        with self._condition:
            return len(self._queued)

    @property
    def retrying(self) -> int:
        """Number of keys whose last attempt failed."""
        with self._condition:
            return len(self._failures)

    @property
    def age(self) -> float:
        """Seconds since the oldest queued key arrived; 0 if there is none."""
        with self._condition:
            oldest = next(iter(self._queued.values()), None)
            return 0.0 if oldest is None else self._clock() - oldest

    def _add(self, key: str) -> None:
        if key in self._processing:
            self._dirty.add(key)
        elif key not in self._queued:
            self._queued[key] = self._clock()
            self._condition.notify()

    def _queue_due_keys(self) -> None:
        while self._delayed and self._delayed[0][0] <= self._clock():
            self._add(heapq.heappop(self._delayed)[1])
