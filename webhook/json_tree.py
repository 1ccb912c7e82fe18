"""Access to decoded JSON of unknown shape: Kubernetes objects as they are on the wire.

`get_*` return an empty value for a member of another type; `strict_*` raise MalformedCall with its path.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeGuard

from webhook.errors import MalformedCall, quote

JsonObject: TypeAlias = dict[str, object]
"""A JSON object that this process owns."""


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether `value` is a JSON object."""
    return isinstance(value, dict)


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


def strict_object(parent: Mapping[str, object], key: str, path: str) -> Mapping[str, object]:
    """The object at `key`, empty if absent or null. `path` is the parent's, for the message. Raises MalformedCall."""
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MalformedCall(f"{path}.{key}: want an object")
    return value


def strict_list(parent: Mapping[str, object], key: str, path: str) -> Sequence[object]:
    """The list at `key`, empty if absent or null. Raises MalformedCall."""
    value = parent.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise MalformedCall(f"{path}.{key}: want a list")
    return value


def strict_text(parent: Mapping[str, object], key: str, path: str) -> str:
    """The string at `key`, empty if absent or null. Raises MalformedCall."""
    value = parent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedCall(f"{path}.{key}: want a string")
    return value


def strict_texts(parent: Mapping[str, object], key: str, path: str) -> Mapping[str, str]:
    """The map of strings at `key`: annotations or labels. A null value is an empty string, as for the API server.
    Raises MalformedCall."""
    members = strict_object(parent, key, path)
    if all(isinstance(text, str) for text in members.values()):
        return members  # type: ignore[return-value]
    for name, text in members.items():
        if not isinstance(text, str) and text is not None:
            raise MalformedCall(f"{path}.{key}[{quote(name)}]: want a string; put the value in quotes")
    return {name: text if isinstance(text, str) else "" for name, text in members.items()}
