"""A JSON decoder that rejects ambiguous input.

`json.loads` accepts NaN, Infinity and 1e999, and keeps the last of two equal keys (RFC 8259 forbids the numbers and
leaves repeated keys undefined). In a value that sizes a device each of them is a mistake to report.
Numbers become Decimal, never binary floats: 5.1 stays 5.1.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from webhook import unique_keys
from webhook.errors import MAX_QUOTED, FieldError, quote

MAX_DEPTH = 16
"""Levels of nesting; llmfit's own output has four."""

MAX_EXPONENT = 308
"""Powers of ten of a number. Most JSON decoders use doubles, where a larger number is infinite."""

MAX_DIGITS = 100
"""Characters of a number; a double needs 25. Conversion takes quadratic time."""


@dataclass(frozen=True, slots=True)
class InvalidNumber:
    """Replaces a number that JSON or Decimal does not allow."""

    text: str


_CAN_CONTAIN_ERRORS = (dict, list, InvalidNumber)


class DuplicateKeys(dict[str, object]):
    """An object whose text has a key more than once; `repeated` lists each such key once."""

    repeated: tuple[str, ...] = ()


class NotJsonError(Exception):
    """The text as a whole is not JSON."""

    def __init__(self, error: FieldError) -> None:
        self.error = error
        super().__init__(str(error))


def decode(text: str, path: str) -> object:
    """The value of `text`: dict, list, str, Decimal, bool or None. What `find_errors` reports is in it as
    InvalidNumber and DuplicateKeys. Raises NotJsonError if there is no value at all."""
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_float=_number, parse_int=_number, parse_constant=InvalidNumber
        )
    except json.JSONDecodeError as error:
        raise NotJsonError(_syntax_error(text, error, path)) from None
    except RecursionError:
        raise NotJsonError(_too_deep(path)) from None


def find_errors(value: object, path: str, depth: int = 1) -> Iterator[FieldError]:
    """Everything in a decoded value that strict JSON does not allow, each with its path."""
    if isinstance(value, InvalidNumber):
        yield FieldError(path, describe(value), f"a finite number of at most {MAX_DIGITS} digits")
    if not isinstance(value, (dict, list)):
        return
    if depth > MAX_DEPTH:
        yield _too_deep(path)
        return
    if isinstance(value, DuplicateKeys):
        for key in value.repeated:
            yield FieldError(member_path(path, key), "a duplicate key", "each key once", "remove one of the two")
    # Paths are built only for children that can contain an error: most members of a fit are plain values.
    if isinstance(value, dict):
        for key, child in value.items():
            if isinstance(child, _CAN_CONTAIN_ERRORS):
                yield from find_errors(child, member_path(path, key), depth + 1)
    else:
        for index, child in enumerate(value):
            if isinstance(child, _CAN_CONTAIN_ERRORS):
                yield from find_errors(child, f"{path}[{index}]", depth + 1)


def describe(value: object) -> str:
    """A decoded value for a message: `null`, `true`, `the number 5`, `the text "x"`, `a list`, `an object`."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return f"the text {quote(value)}"
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = value.text if isinstance(value, InvalidNumber) else str(value)
    return f"the number {text if len(text) <= MAX_QUOTED else f'{text[:MAX_QUOTED]}...'}"


def member_path(path: str, key: str) -> str:
    """The path of an object's member. A key other than an ASCII word is quoted, escaped and truncated."""
    if key.isascii() and key.replace("_", "").isalnum() and len(key) <= 64:
        return f"{path}.{key}"
    return f"{path}[{quote(key)}]"


def _syntax_error(text: str, error: json.JSONDecodeError, path: str) -> FieldError:
    if not text.strip():
        hint = "paste llmfit's output; if it printed none, see its error message"
        return FieldError(path, "nothing", "one JSON object", hint)
    value = f"{error.msg.lower()} at line {error.lineno} column {error.colno}"
    return FieldError(path, value, "one JSON object", "paste llmfit's output unchanged, or check the quotes and commas")


def _too_deep(path: str) -> FieldError:
    expected = f"at most {MAX_DEPTH}; llmfit prints four"
    return FieldError(path, f"more than {MAX_DEPTH} levels of nesting", expected, "paste llmfit's output unchanged")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    duplicates = DuplicateKeys(pairs)
    duplicates.repeated = unique_keys.repeated(key for key, _ in pairs)
    return duplicates


def _number(text: str) -> Decimal | InvalidNumber:
    if len(text) > MAX_DIGITS:
        return InvalidNumber(text)
    try:
        number = Decimal(text)
    except InvalidOperation:
        return InvalidNumber(text)
    return number if number.adjusted() <= MAX_EXPONENT or not number else InvalidNumber(text)
