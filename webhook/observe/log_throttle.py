"""Limits how often an event that outsiders can trigger is logged."""

import time
from collections.abc import Callable, Hashable

INTERVAL_SECONDS = 60.0
"""Minimum time between two lines of the same kind."""


class LogThrottle:
    """Allows the first event of each kind, and then one every INTERVAL_SECONDS. Kinds are never forgotten, so their
    number must be bounded. `now` is a clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._allowed_at: dict[Hashable, float] = {}
        self._suppressed: dict[Hashable, int] = {}

    def allow(self, kind: Hashable) -> int:
        """Counts an event. If it is to be logged, returns the number of events of its kind since the previous line,
        this one included; else 0."""
        now, count = self._now(), self._suppressed.get(kind, 0) + 1
        allowed = kind not in self._allowed_at or now - self._allowed_at[kind] >= INTERVAL_SECONDS
        if allowed:
            self._allowed_at[kind] = now
        self._suppressed[kind] = 0 if allowed else count
        return count if allowed else 0
