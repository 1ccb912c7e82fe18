"""JSON lines on standard error, one an event.

A line has `ts` (RFC 3339, UTC), `level`, `logger`, `msg` and the event's own fields. It is ASCII: newlines, terminal
escapes and whatever else a value holds are escaped, so no value can forge a line. Values are cut, and a line never
passes MAX_LINE bytes. Of an exception the kind and the places are logged, not its text, which may quote a pod.
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
"""Characters of any text in a line."""

MAX_LINE = 8 * 1024
"""Bytes; a container runtime splits lines at 16 KiB, pipes stop being atomic at 4."""

_SHORT_TEXT = 40
"""Characters of each text where the line would be too long otherwise."""

_MAX_FRAMES = 12
"""The innermost frames of a stack: where it happened."""


class JsonFormatter(logging.Formatter):
    """Formats a record; a mapping under `fields` in its extras is merged into the line."""

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
            line["stack"] = _places(record.exc_info[2])
        return _text(line)


def configure(level: str) -> None:
    """Sends everything at `level` or above to standard error, and nothing anywhere else."""
    handler = _Handler()
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # What a record is asked for here; each of the others costs a system call a line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # A line for each connection, none of which is an event of ours.
    logging.getLogger("urllib3").setLevel(max(logging.INFO, root.level))


def info(logger: logging.Logger, message: str, fields: Mapping[str, object]) -> None:
    """An event at `info`, the same line as through logging at a third of the cost: for the one event that comes with
    every review. The caller asks `logger.isEnabledFor` first, before it gathers the fields."""
    line = {"ts": _timestamp(time.time()), "level": "info", "logger": logger.name, "msg": message, **fields}
    _write(_text(line))


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _write(self.format(record))


def _write(line: str) -> None:
    # Where nobody reads the log any more, that is no reason to fail a review.
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _text(line: Mapping[str, object]) -> str:
    text = _encode(line, MAX_TEXT)
    return text if len(text) <= MAX_LINE else _encode(line, _SHORT_TEXT)


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _encode(line: Mapping[str, object], longest: int) -> str:
    """One line of ASCII."""
    cut = {key: _cut(value, longest) for key, value in line.items()}
    try:
        text = orjson.dumps(cut).decode()
    except orjson.JSONEncodeError:
        # A lone surrogate, or an integer beyond 64 bits.
        text = ""
    return text if text and text.isascii() and "\x7f" not in text else json.dumps(cut).replace("\x7f", "\\u007f")


def _cut(value: object, longest: int) -> object:
    if isinstance(value, str):
        return value if len(value) <= longest else f"{value[:longest]}..."
    return value if isinstance(value, (bool, int, float, type(None))) else str(value)[:longest]


def _places(stack: TracebackType | None) -> str:
    frames = traceback.extract_tb(stack)[-_MAX_FRAMES:]
    return " > ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)
