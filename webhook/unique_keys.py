"""Repeated keys of a JSON object or YAML mapping, which most readers drop without an error."""

from collections import Counter
from collections.abc import Iterable


def repeated(keys: Iterable[str]) -> tuple[str, ...]:
    """The keys that occur more than once, each once, in the order of their first occurrence."""
    return tuple(key for key, count in Counter(keys).items() if count > 1)


def first_repeat(keys: Iterable[str]) -> int | None:
    """The index of the first key that equals an earlier one; None if all keys differ."""
    seen: set[str] = set()
    for index, key in enumerate(keys):
        if key in seen:
            return index
        seen.add(key)
    return None
