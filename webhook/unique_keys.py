"""Repeated keys of a JSON object or YAML mapping, which most readers drop without an error."""

from collections import Counter
from collections.abc import Iterable


def repeated(keys: Iterable[str]) -> tuple[str, ...]:
    """The keys that occur more than once, each once, in the order of their first occurrence."""
    return tuple(key for key, count in Counter(keys).items() if count > 1)
