"""What can go wrong, drawn once. Two channels, never mixed:

    ModelfitError
    ├── Refusal           the input is understood and not acceptable: 200 with allowed: false; the CLI's message
    ├── MalformedCall     the call is not a usable AdmissionReview: an HTTP 4xx with a small JSON body
    └── InvalidSettings   the configuration: the process does not start

A fault is one sentence in a fixed order: where, what was seen, what is accepted, what to do. All faults of one
input travel together, so that nobody meets them one by one.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from webhook.reasons import Reason

MAX_QUOTED = 64
"""Characters of a user's value that a message may repeat."""

MAX_MESSAGE = 1024
"""Bytes of a message in an answer. The API server passes it on to every client, so it stays short."""


def quote(value: object) -> str:
    """A user's value as a message may repeat it: at most 64 characters, escaped to ASCII so that it can neither
    forge a log line nor colour a terminal."""
    text = value if isinstance(value, str) else str(value)
    quoted = json.dumps(text[:MAX_QUOTED]).replace("\x7f", "\\u007f")
    return quoted if len(text) <= MAX_QUOTED else f"{quoted}..."


def quote_all(values: Iterable[str], limit: int = 8) -> str:
    """Several names for a message: the first `limit` of them, each as `shown`."""
    names = list(values)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(quote(name) for name in names[:limit]) + more


@dataclass(frozen=True, slots=True)
class FieldError:
    """One invalid field: its path, the value seen, what is accepted, and what to do (empty if `expected` says it)."""

    field: str
    value: str
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.value}; want {self.expected}" + (f"; {self.hint}" if self.hint else "")


class ModelfitError(Exception):
    """Base of the tree above."""


class Denied(ModelfitError):
    """Understood, and not acceptable. `reason` is the first in weight, `faults` are all of them."""

    def __init__(self, reason: Reason, faults: Iterable[FieldError]) -> None:
        self.reason = reason
        self.faults = tuple(faults)
        super().__init__(truncate("; and ".join(map(str, self.faults))))


class MalformedCall(ModelfitError):
    """Not an AdmissionReview that can be answered. `status` is the HTTP status code."""

    def __init__(self, message: str, status: int = 400) -> None:
        self.status = status
        super().__init__(truncate(message))


class InvalidSettings(ModelfitError):
    """The configuration cannot be used; the message names every fault."""

    def __init__(self, faults: Iterable[FieldError]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))


def truncate(message: str) -> str:
    """The message in at most MAX_MESSAGE bytes of UTF-8, cut at a character."""
    data = message.encode("utf-8", "backslashreplace")
    if len(data) <= MAX_MESSAGE:
        return data.decode()
    return data[: MAX_MESSAGE - 3].decode("utf-8", "ignore") + "..."
