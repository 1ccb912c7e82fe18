"""Waiting for something to become true, with a deadline and a sentence that says what was seen last."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")


class WaitTimeoutError(AssertionError):
    """It did not become true before the deadline. An AssertionError: what a test waits for is what it asserts."""


class RetryableError(Exception):
    """Base of what a look may raise while it is too early (the server is down, the object is not there yet)."""


def wait_for(
    what: str,
    look: Callable[[], Seen],
    enough: Callable[[Seen], object] = bool,
    *,
    timeout: float = 30,
    every: float = 0.05,
    show: Callable[[Seen], object] = lambda seen: seen,
) -> Seen:
    """Looks every `every` seconds until `enough(look())` is true; returns what was seen then.

    `what` is the sentence to be true, e.g. "pod a is bound". After `timeout` seconds WaitTimeoutError has it and what was
    seen last, or what `show` makes of it. An RetryableError (the API client's errors are) counts as not yet.
    """
    deadline = time.monotonic() + timeout
    while True:
        last: object
        try:
            seen = look()
        except RetryableError as problem:
            last = problem
        else:
            if enough(seen):
                return seen
            last = show(seen)
        if time.monotonic() >= deadline:
            raise WaitTimeoutError(f"not within {timeout:g} s: {what}; last seen: {_short(last)}")
        time.sleep(every)


def consistently(
    what: str, look: Callable[[], Seen], enough: Callable[[Seen], object] = bool, *, seconds: float
) -> None:
    """Looks for `seconds` and raises AssertionError as soon as `enough(look())` is false."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        seen = look()
        if not enough(seen):
            raise AssertionError(f"no longer true: {what}; seen: {_short(seen)}")
        time.sleep(0.1)


def _short(seen: object, limit: int = 2000) -> str:
    text = str(seen) if isinstance(seen, Exception) else repr(seen)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
