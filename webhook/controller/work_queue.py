"""A work queue of keys: each key at most once, never two workers on one key, and a growing pause after failures.

The semantics of client-go's workqueue. Time is a parameter.
"""

import heapq
import random
import threading
import time
from collections.abc import Callable

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 60.0
"""Seconds before a key is tried again: doubled with each failure in a row, from the first to the longest."""


class WorkQueue:
    """Keys wait in order of arrival. What is added while a worker has it comes up again once that worker is done."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._condition = threading.Condition()
        self._waiting: dict[str, float] = {}
        """Key → when it came; in order."""
        self._working: set[str] = set()
        self._again: set[str] = set()
        self._later: list[tuple[float, str]] = []
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
        """The next key, to be given back with `done`; None after `timeout` seconds, and at once when closed."""
        deadline = self._clock() + timeout
        with self._condition:
            while not self._closed:
                self._promote()
                if self._waiting:
                    key = next(iter(self._waiting))
                    del self._waiting[key]
                    self._working.add(key)
                    return key
                due = self._later[0][0] if self._later else deadline
                pause = min(due, deadline) - self._clock()
                if pause <= 0 and deadline <= self._clock():
                    return None
                self._condition.wait(max(pause, 0.001))
            return None

    def done(self, key: str) -> None:
        """The worker has finished with the key, whether it failed (see `retry`) or not."""
        with self._condition:
            self._working.discard(key)
            if key in self._again:
                self._again.discard(key)
                self._add(key)

    def retry(self, key: str, at_least: float = 0.0) -> float:
        """Has the key come up again after its pause, of `at_least` so many seconds. The pause."""
        with self._condition:
            count = self._failures.get(key, 0)
            self._failures[key] = count + 1
            # Half of it at random: what failed together is not tried together again.
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(count, 16)) * random.uniform(0.5, 1.0)  # noqa: S311
            pause = max(pause, at_least)
            heapq.heappush(self._later, (self._clock() + pause, key))
            self._condition.notify()
            return pause

    def forget(self, key: str) -> None:
        """The key succeeded: its next failure is its first."""
        with self._condition:
            self._failures.pop(key, None)

    def clear(self) -> None:
        """Forgets everything that waits, and all failures."""
        with self._condition:
            self._waiting.clear()
            self._later.clear()
            self._failures.clear()
            self._again.clear()

    def close(self) -> None:
        """Nothing is handed out any more."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    @property
    def depth(self) -> int:
        """Keys that wait for a worker; not those that wait for their pause to end."""
        with self._condition:
            return len(self._waiting)

    @property
    def retrying(self) -> int:
        """Keys whose last attempt failed."""
        with self._condition:
            return len(self._failures)

    @property
    def age(self) -> float:
        """Seconds that the first key has waited; 0 where none waits."""
        with self._condition:
            first = next(iter(self._waiting.values()), None)
            return 0.0 if first is None else self._clock() - first

    def _add(self, key: str) -> None:
        if key in self._working:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting[key] = self._clock()
            self._condition.notify()

    def _promote(self) -> None:
        """Moves what is due from `_later` into the queue."""
        while self._later and self._later[0][0] <= self._clock():
            self._add(heapq.heappop(self._later)[1])
