"""Events that are worth a line each, but which others can cause as often as they like."""

import time
from collections.abc import Callable, Hashable

SECONDS = 60.0
"""Between two lines of one kind."""


class LogThrottle:
    """Says which events are to be logged: of each kind the first, and then one in SECONDS. Kinds are remembered for
    good, so there must be few. `now` is a clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._logged: dict[Hashable, float] = {}
        self._since: dict[Hashable, int] = {}

    def due(self, kind: Hashable) -> int:
        """Counts an event; how many of its kind there were since the last line, this one included, where it is to be
        logged; else 0."""
        now, count = self._now(), self._since.get(kind, 0) + 1
        is_due = kind not in self._logged or now - self._logged[kind] >= SECONDS
        if is_due:
            self._logged[kind] = now
        self._since[kind] = 0 if is_due else count
        return count if is_due else 0
