"""Limits the lines per second of a message that is logged for each request."""

import time
from collections.abc import Callable

BURST = 1000
PER_SECOND = 200.0
"""An API server on two cores admits about 300 pods a second. A line has at most 1.5 KB."""


class LogRate:
    """Allows `burst` lines at once, then `per_second`. `now` is a clock in seconds. For one thread."""

    def __init__(
        self, burst: float = BURST, per_second: float = PER_SECOND, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst, self._per_second, self._now = burst, per_second, now
        self._tokens, self._refilled_at = burst, now()
        self._suppressed = 0

    def allow(self) -> int | None:
        """The number of lines suppressed before this one; None if this one is to be suppressed."""
        now = self._now()
        self._tokens = min(self._burst, self._tokens + (now - self._refilled_at) * self._per_second)
        self._refilled_at = now
        if self._tokens < 1:
            self._suppressed += 1
            return None
        self._tokens -= 1
        suppressed, self._suppressed = self._suppressed, 0
        return suppressed
