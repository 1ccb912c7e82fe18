"""What commands read: settings, and a file or standard input."""

import os
import sys
from pathlib import Path

from webhook.cli import UsageError
from webhook.errors import quote
from webhook.settings import Settings, load

MAX_INPUT = 64 << 20
"""Bytes. llmfit's whole catalogue is 15 MB."""


def settings(path: str | None) -> Settings:
    """The configuration, as every command reads it. Raises InvalidSettings."""
    return load(None if path is None else Path(path), os.environ)


def text(path: str) -> str:
    """The text of a file, or of standard input for `-`. Raises UsageError."""
    try:
        if path == "-":
            if sys.stdin is None:
                raise UsageError("standard input: closed")
            data = sys.stdin.buffer.read(MAX_INPUT + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(MAX_INPUT + 1)
    except OSError as error:
        raise UsageError(f"{label(path)}: {error.strerror or error}; want a readable file, or -") from None
    except ValueError:
        raise UsageError(f"{label(path)}: no path; want a readable file, or -") from None
    if len(data) > MAX_INPUT:
        raise UsageError(f"{label(path)}: too large; want at most {MAX_INPUT >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{label(path)}: not UTF-8 at byte {error.start}; want UTF-8 text") from None


def label(path: str) -> str:
    """How messages call an input."""
    return "standard input" if path == "-" else printable(path)


def printable(text: str) -> str:
    """The text as a message may show it: as it is, or quoted where it is empty or would do something to a terminal."""
    return text if text and text.isprintable() else quote(text)
