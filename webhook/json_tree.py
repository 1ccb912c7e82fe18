"""Access to decoded JSON whose shape is not known: Kubernetes objects as they are on the wire."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeGuard

JsonObject: TypeAlias = dict[str, object]
"""A JSON object that this process owns."""


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether `value` is a JSON object."""
    return isinstance(value, Mapping)


def get_object(value: object, *keys: str) -> Mapping[str, object]:
    """The object found by following `keys` from `value`; empty if anything on the way is absent or of another type."""
    for key in keys:
        value = value.get(key) if is_object(value) else None
    return value if is_object(value) else {}


def get_list(value: object, *keys: str) -> Sequence[object]:
    """The list found by following `keys` from `value`; empty if anything on the way is absent or of another type."""
    *parents, last = keys
    found = get_object(value, *parents).get(last)
    return found if isinstance(found, list) else ()


def get_text(value: object, *keys: str) -> str | None:
    """The string found by following `keys` from `value`; None if anything on the way is absent or of another type."""
    *parents, last = keys
    found = get_object(value, *parents).get(last)
    return found if isinstance(found, str) else None
