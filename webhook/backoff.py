"""Exponential back-off with jitter: the one rule for every call that is tried again."""

import random
from dataclasses import dataclass

_MAX_DOUBLINGS = 16


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays that double with each failure in a row, from `first` to `maximum` seconds.

    The second half of each delay is random, so that calls that failed together are not repeated together.
    """

    first: float
    maximum: float

    def delay(self, failures: int) -> float:
        """Seconds to wait after `failures` failures in a row (1 or more)."""
        ceiling = min(self.maximum, self.first * 2.0 ** min(failures - 1, _MAX_DOUBLINGS))
        return ceiling * random.uniform(0.5, 1.0)  # noqa: S311
