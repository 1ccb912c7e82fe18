"""JSON lines on standard error, one for each event.

A line has `ts` (RFC 3339, UTC), `level`, `logger`, `msg` and the event's own fields. It is ASCII: newlines, terminal
escapes and all other special characters are escaped, so no value can forge a line. Values are truncated, and a line
has at most MAX_LINE bytes. Exceptions are logged with their type and stack, without their text, which may quote a pod.
"""

import contextlib
import json
import logging
import sys
import time
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType

import orjson

MAX_TEXT = 1024
"""Maximum characters of a value."""

MAX_LINE = 8 * 1024
"""Maximum bytes of a line. Container runtimes split lines at 16 KiB."""

_SHORT_TEXT = 40
"""Maximum characters of a value in a line that would otherwise be too long."""

_MAX_FRAMES = 12
"""Innermost stack frames that are logged."""


class JsonFormatter(logging.Formatter):
    """Formats a record. A mapping under `fields` in the record's extras is merged into the line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "ts": _timestamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, Mapping):
            line |= fields
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["stack"] = _format_stack(record.exc_info[2])
        return _format_line(line)


def configure(level: str) -> None:
    """Configures all logging: lines at `level` or above go to standard error, and nowhere else."""
    handler = _Handler()
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # Not used in the lines; each would cost a system call for each record.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # Its debug level has a line for each connection.
    logging.getLogger("urllib3").setLevel(max(logging.INFO, root.level))


def info(logger: logging.Logger, message: str, fields: Mapping[str, object]) -> None:
    """Writes the same line as `logger.info` at a third of the cost, for the event of every review. The caller checks
    `logger.isEnabledFor` before it collects the fields."""
    line = {"ts": _timestamp(time.time()), "level": "info", "logger": logger.name, "msg": message, **fields}
    _write(_format_line(line))


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _write(self.format(record))


def _write(line: str) -> None:
    # A closed standard error must not fail a review.
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _format_line(line: Mapping[str, object]) -> str:
    text = _encode(line, MAX_TEXT)
    return text if len(text) <= MAX_LINE else _encode(line, _SHORT_TEXT)


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _encode(line: Mapping[str, object], max_chars: int) -> str:
    """The line in ASCII, each value truncated to `max_chars`."""
    truncated = {key: _truncate(value, max_chars) for key, value in line.items()}
    try:
        text = orjson.dumps(truncated).decode()
    except orjson.JSONEncodeError:
        # orjson encodes neither lone surrogates nor integers beyond 64 bits.
        text = ""
    return text if text and text.isascii() and "\x7f" not in text else json.dumps(truncated).replace("\x7f", "\\u007f")


def _truncate(value: object, max_chars: int) -> object:
    if isinstance(value, str):
        return value if len(value) <= max_chars else f"{value[:max_chars]}..."
    return value if isinstance(value, (bool, int, float, type(None))) else str(value)[:max_chars]


def _format_stack(stack: TracebackType | None) -> str:
    frames = traceback.extract_tb(stack)[-_MAX_FRAMES:]
    return " > ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)
