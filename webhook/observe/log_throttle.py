"""Limits how often an event that outsiders can trigger is logged."""

import threading
import time
from collections.abc import Callable, Hashable

INTERVAL_SECONDS = 60.0
"""Minimum time between two lines of the same kind."""
MAX_KINDS = 1000
"""Number of kinds above which those are forgotten that were last logged more than two intervals ago."""


class LogThrottle:
    """Allows the first event of each kind, and then one every INTERVAL_SECONDS. `now` is a clock in seconds.
    Thread-safe."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._allowed_at: dict[Hashable, float] = {}
        """In order of time."""
        self._suppressed: dict[Hashable, int] = {}

    def allow(self, kind: Hashable) -> int:
        """Counts an event. If it is to be logged, returns the number of events of its kind since the previous line,
        this one included; else 0."""
        with self._lock:
            now, count = self._now(), self._suppressed.get(kind, 0) + 1
            allowed = kind not in self._allowed_at or now - self._allowed_at[kind] >= INTERVAL_SECONDS
            if not allowed:
                self._suppressed[kind] = count
                return 0
            self._suppressed.pop(kind, None)
            self._allowed_at.pop(kind, None)
            self._allowed_at[kind] = now
            if len(self._allowed_at) > MAX_KINDS:
                self._forget(now - 2 * INTERVAL_SECONDS)
            return count

    def _forget(self, before: float) -> None:
        for kind in list(self._allowed_at):
            if self._allowed_at[kind] >= before:
                return
            del self._allowed_at[kind]
            self._suppressed.pop(kind, None)
