"""Reads what commands need: the settings, a file or standard input, and integers in options."""

import argparse
import os
import sys
from pathlib import Path

from webhook import utf16
from webhook.cli import UsageError
from webhook.errors import quote
from webhook.settings import Settings, load

MAX_INPUT = 64 << 20
"""Bytes. llmfit's whole catalogue is 15 MB."""


def load_settings(path: str | None) -> Settings:
    """The settings in the file at `path`, if any, and in the environment. Raises InvalidSettings."""
    return load(None if path is None else Path(path), os.environ)


def read_text(path: str) -> str:
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
        raise UsageError(f"{display_name(path)}: {error.strerror or error}; want a readable file, or -") from None
    except ValueError:
        raise UsageError(f"{display_name(path)}: not a path; want a readable file, or -") from None
    if len(data) > MAX_INPUT:
        raise UsageError(f"{display_name(path)}: too large; want at most {MAX_INPUT >> 20} MiB")
    if utf16.is_utf16(data):
        raise UsageError(f"{display_name(path)}: UTF-16 text; want UTF-8 text; {utf16.HINT}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{display_name(path)}: not UTF-8 at byte {error.start}; want UTF-8 text") from None


def integer(text: str, smallest: int, largest: int) -> int:
    """The value of an option that is an integer from `smallest` to `largest`, for argparse."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(largest)) and smallest <= int(text) <= largest):
        raise argparse.ArgumentTypeError(f"{quote(text)}; want a number from {smallest} to {largest}")
    return int(text)


def display_name(path: str) -> str:
    """The name of an input in messages."""
    return "standard input" if path == "-" else quote_unprintable(path)


def quote_unprintable(text: str) -> str:
    """The text for a message. It is quoted only if it is empty or contains characters that could control a terminal."""
    return text if text and text.isprintable() else quote(text)
