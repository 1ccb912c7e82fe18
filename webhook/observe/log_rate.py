"""Limits the lines per second of a message that is logged for each request."""

import time
from collections.abc import Callable

from webhook.observe.token_bucket import TokenBucket

BURST = 1000
PER_SECOND = 200.0
"""An API server on two cores admits about 300 pods a second. A line has at most 1.5 KB."""


class LogRate:
    """Allows `burst` lines at once, then `per_second`. `now` is a clock in seconds. For one thread."""

    def __init__(
        self, burst: float = BURST, per_second: float = PER_SECOND, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._now = now
        self._bucket = TokenBucket(burst, per_second, now())
        self._suppressed = 0

    def allow(self) -> int | None:
        """The number of lines suppressed before this one; None if this one is to be suppressed."""
        if self._bucket.available(self._now()) < 1:
            self._suppressed += 1
            return None
        self._bucket.take()
        suppressed, self._suppressed = self._suppressed, 0
        return suppressed
