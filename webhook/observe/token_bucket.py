"""A rate limit that allows bursts. Callers pass the time."""


class TokenBucket:
    """A rate limit: `burst` tokens, refilled at `per_second`."""

    def __init__(self, burst: float, per_second: float, now: float) -> None:
        self._burst, self._per_second = burst, per_second
        self._tokens, self._refilled = burst, now

    def available(self, now: float) -> float:
        """The number of tokens."""
        self._tokens = min(self._burst, self._tokens + (now - self._refilled) * self._per_second)
        self._refilled = now
        return self._tokens

    def is_full(self, now: float) -> bool:
        return self.available(now) == self._burst

    def take(self) -> None:
        self._tokens -= 1
