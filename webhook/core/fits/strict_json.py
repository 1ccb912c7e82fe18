"""JSON that means one thing only.

`json.loads` takes NaN, Infinity and 1e999, and keeps the last of two equal keys (measured; the standard forbids the
first and leaves the second open). For a figure that sizes a device each of them is a mistake to show, not to read.
Numbers become Decimal, never binary floats: 5.1 stays 5.1.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from webhook.errors import MAX_QUOTED, FieldError, quote

MAX_DEPTH = 16
"""Levels of nesting; llmfit's own output has four."""

MAX_EXPONENT = 308
"""Powers of ten of a number; beyond it a double, which is what JSON's other readers use, is infinite."""

MAX_DIGITS = 100
"""Characters of a number; a double needs 25. Longer ones cost quadratic time to convert."""


@dataclass(frozen=True, slots=True)
class Impossible:
    """Stands where the text has a number that JSON or arithmetic does not allow."""

    text: str


class RepeatedKeys(dict[str, object]):
    """An object whose text has a key twice; `repeated` lists each of them once."""

    repeated: tuple[str, ...] = ()


class NotJsonError(Exception):
    """The text as a whole is not JSON. `fault` says where it breaks."""

    def __init__(self, fault: FieldError) -> None:
        self.fault = fault
        super().__init__(str(fault))


def read(text: str, where: str) -> object:
    """The value of `text`: dict, list, str, Decimal, bool or None, with `Impossible` and `RepeatedKeys` in the
    places that `faults` names. Raises NotJsonError where there is no value at all."""
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_float=_number, parse_int=_number, parse_constant=Impossible
        )
    except json.JSONDecodeError as error:
        raise NotJsonError(_broken(text, error, where)) from None
    except RecursionError:
        raise NotJsonError(_too_deep(where)) from None


def faults(value: object, where: str, depth: int = 1) -> Iterator[FieldError]:
    """Everything in a read value that strict JSON does not allow, each with its path."""
    if isinstance(value, Impossible):
        yield FieldError(where, describe(value), f"a finite number of at most {MAX_DIGITS} digits")
    elif isinstance(value, dict):
        if depth > MAX_DEPTH:
            yield _too_deep(where)
            return
        if isinstance(value, RepeatedKeys):
            for key in value.repeated:
                yield FieldError(member(where, key), "the key twice", "each key once", "remove one of the two")
        for key, child in value.items():
            if isinstance(child, (dict, list, Impossible)):
                yield from faults(child, member(where, key), depth + 1)
    elif isinstance(value, list):
        if depth > MAX_DEPTH:
            yield _too_deep(where)
            return
        for index, child in enumerate(value):
            if isinstance(child, (dict, list, Impossible)):
                yield from faults(child, f"{where}[{index}]", depth + 1)


def describe(value: object) -> str:
    """A read value as messages speak of it: `null`, `true`, `the number 5`, `the text "x"`, `a list`, `an object`."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return f"the text {quote(value)}"
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = value.text if isinstance(value, Impossible) else str(value)
    return f"the number {text if len(text) <= MAX_QUOTED else f'{text[:MAX_QUOTED]}...'}"


def member(where: str, key: str) -> str:
    """The path of an object's member; a key that is no plain word is quoted, escaped and cut."""
    if key.isascii() and key.replace("_", "").isalnum() and len(key) <= 64:
        return f"{where}.{key}"
    return f"{where}[{quote(key)}]"


def _broken(text: str, error: json.JSONDecodeError, where: str) -> FieldError:
    if not text.strip():
        remedy = "paste llmfit's output; if it printed none, see its error message"
        return FieldError(where, "nothing", "one JSON object", remedy)
    saw = f"{error.msg.lower()} at line {error.lineno} column {error.colno}"
    return FieldError(where, saw, "one JSON object", "paste llmfit's output unchanged, or check the quotes and commas")


def _too_deep(where: str) -> FieldError:
    want = f"at most {MAX_DEPTH}; llmfit prints four"
    return FieldError(where, f"more than {MAX_DEPTH} levels of nesting", want, "paste llmfit's output unchanged")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    repeated = RepeatedKeys(pairs)
    repeated.repeated = tuple(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    return repeated


def _number(text: str) -> Decimal | Impossible:
    if len(text) > MAX_DIGITS:
        return Impossible(text)
    try:
        number = Decimal(text)
    except InvalidOperation:
        return Impossible(text)
    return number if number.adjusted() <= MAX_EXPONENT or not number else Impossible(text)
