"""Polls a condition until it is true (`wait_for`), or checks that it stays true (`consistently`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


class WaitTimeoutError(AssertionError):
    """The condition did not become true in time. An AssertionError: what a test waits for is what it asserts."""


class RetryableError(Exception):
    """Base of the errors that a probe may raise too early (the server is down, the object does not exist yet)."""


def wait_for(
    condition: str,
    probe: Callable[[], Value],
    accept: Callable[[Value], object] = bool,
    *,
    timeout: float = 30,
    every: float = 0.05,
    show: Callable[[Value], object] = lambda value: value,
) -> Value:
    """Calls `probe` every `every` seconds until `accept(value)` is true, and returns that value.

    `condition` is a sentence, e.g. "pod a is bound". After `timeout` seconds WaitTimeoutError reports it and the last
    value, or what `show` makes of that. A RetryableError (those of the API client are) counts as not yet.
    """
    deadline = time.monotonic() + timeout
    while True:
        last: object
        try:
            value = probe()
        except RetryableError as problem:
            last = problem
        else:
            if accept(value):
                return value
            last = show(value)
        if time.monotonic() >= deadline:
            raise WaitTimeoutError(f"not within {timeout:g} s: {condition}; last value: {_short(last)}")
        time.sleep(every)


def consistently(
    condition: str, probe: Callable[[], Value], accept: Callable[[Value], object] = bool, *, seconds: float
) -> None:
    """Calls `probe` for `seconds`. Raises AssertionError as soon as `accept(value)` is false."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = probe()
        if not accept(value):
            raise AssertionError(f"no longer true: {condition}; value: {_short(value)}")
        time.sleep(0.1)


def _short(value: object, limit: int = 2000) -> str:
    text = str(value) if isinstance(value, Exception) else repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
