"""The exceptions of the webhook and the CLI, and the grammar of their messages.

    ModelfitError
    ├── Denied            the request is well-formed but not acceptable: 200 with allowed: false; exit code 1
    ├── MalformedCall     the body is not an AdmissionReview: an HTTP 4xx with a small JSON body
    └── InvalidSettings   the configuration is invalid: the process does not start

A field error is one sentence: `field: value; want expected; hint`. All errors of one input are reported together.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from webhook.reasons import Reason

MAX_QUOTED = 64
"""Characters of a user's value in a message."""

MAX_MESSAGE = 1024
"""Bytes of a message in a response, which the API server passes on to the client."""

MAX_WARNING = 256
"""Characters of a warning; the API server may truncate longer ones."""

MAX_WARNINGS = 4000
"""Characters of all warnings of a response; the API server drops what exceeds 4096."""


def quote(value: object) -> str:
    """A user's value for a message: at most MAX_QUOTED characters, escaped to ASCII, so that it cannot forge a log line
    or send escape sequences to a terminal."""
    text = value if isinstance(value, str) else str(value)
    quoted = json.dumps(text[:MAX_QUOTED]).replace("\x7f", "\\u007f")
    return quoted if len(text) <= MAX_QUOTED else f"{quoted}..."


def quote_all(values: Iterable[str], limit: int = 8) -> str:
    """The first `limit` values, quoted, and the number of the others."""
    items = list(values)
    more = f" and {len(items) - limit} more" if len(items) > limit else ""
    return ", ".join(quote(item) for item in items[:limit]) + more


def truncate(message: str) -> str:
    """The message in at most MAX_MESSAGE bytes of UTF-8, cut at a character."""
    data = message.encode("utf-8", "backslashreplace")
    if len(data) <= MAX_MESSAGE:
        return data.decode()
    return data[: MAX_MESSAGE - 3].decode("utf-8", "ignore") + "..."


def truncate_warnings(warnings: Iterable[str]) -> tuple[str, ...]:
    """The warnings in at most MAX_WARNING characters each and MAX_WARNINGS together; the last one counts the others."""
    kept: list[str] = []
    length, left_out = 0, 0
    for text in warnings:
        length += min(len(text), MAX_WARNING)
        if length > MAX_WARNINGS:
            left_out += 1
        else:
            kept.append(text if len(text) <= MAX_WARNING else f"{text[: MAX_WARNING - 3]}...")
    return (*kept, f"modelfit: {left_out} more warnings are left out") if left_out else tuple(kept)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One invalid field: its path, its value, the expected value, and what to do (empty if `expected` says it)."""

    field: str
    value: str
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.value}; want {self.expected}" + (f"; {self.hint}" if self.hint else "")


class ModelfitError(Exception):
    """Base class of the tree above."""


class Denied(ModelfitError):
    """A well-formed request that is not acceptable. `reason` is that of the most important of the `errors`."""

    def __init__(self, reason: Reason, errors: Iterable[FieldError]) -> None:
        self.reason = reason
        self.errors = tuple(errors)
        super().__init__(truncate("; and ".join(map(str, self.errors))))


class MalformedCall(ModelfitError):
    """A call that cannot be answered with an AdmissionReview. `status` is the HTTP status code."""

    def __init__(self, message: str, status: int = 400) -> None:
        self.status = status
        super().__init__(truncate(message))


class InvalidSettings(ModelfitError):
    """An invalid configuration. The message has a line for each of the `errors`."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(map(str, self.errors)))
