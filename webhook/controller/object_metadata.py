"""What the controller keeps of an object's metadata: little, for there may be ten thousand of them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeGuard

from webhook import constants
from webhook.cluster.api import JsonObject
from webhook.core.claims.device_request import MAX_FIT_CHARACTERS

_MEMBERS = frozenset({"namespace", "name", "uid", "deletionTimestamp", "ownerReferences", "annotations", "labels"})
_READ = {
    "annotations": (
        constants.MODEL_FIT,
        constants.CLAIM,
        constants.PROFILE,
        constants.DEVICE_COUNT,
        constants.MIRROR_POD,
    ),
    "labels": (constants.INJECT,),
}
_READ_OF_OWNER = ("kind", "name", "uid", "controller")
_MOST_CHARACTERS = 254
"""Of other texts than the fit: no name has as many, so what is cut there is none."""
_TOO_LONG = " " * (MAX_FIT_CHARACTERS + 1)
"""Stands for every fit that is too long to be read."""


def strip(obj: JsonObject) -> None:
    """Drops, in place, what the controller does not read, and of the rest what no pod in earnest has: metadata may have
    a megabyte, and anybody who may create a pod writes it. Other threads may read the object meanwhile: what stays is
    never absent. Pods of one workload carry the same annotation, which is kept once."""
    for key in [key for key in obj if key != "metadata"]:
        del obj[key]
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return
    for key in [key for key in metadata if key not in _MEMBERS]:
        del metadata[key]
    for member, keys in _READ.items():
        texts = metadata.get(member)
        if is_object(texts):
            metadata[member] = {key: _kept(key, str(texts[key])) for key in keys if key in texts}
    if "ownerReferences" in metadata:
        reference = owner(metadata)
        kept = {key: _cut(reference[key]) for key in _READ_OF_OWNER if key in reference} if reference else None
        metadata["ownerReferences"] = [kept] if kept else []


def _kept(key: str, text: str) -> str:
    if key == constants.MODEL_FIT:
        return _intern(text) if len(text) <= MAX_FIT_CHARACTERS else _TOO_LONG
    return text[:_MOST_CHARACTERS]


@lru_cache(maxsize=256)
def _intern(text: str) -> str:
    """The same object for the same text. Not `sys.intern`: Python 3.12 never forgets what it has interned."""
    return text


def _cut(value: object) -> object:
    return value[:_MOST_CHARACTERS] if isinstance(value, str) else value


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether it is a JSON object."""
    return isinstance(value, Mapping)


def metadata(obj: Mapping[str, object]) -> Mapping[str, object]:
    """The object's metadata; empty where it has none."""
    found = obj.get("metadata")
    return found if is_object(found) else {}


def annotation(meta: Mapping[str, object], key: str) -> str | None:
    annotations = meta.get("annotations")
    value = annotations.get(key) if is_object(annotations) else None
    return value if isinstance(value, str) else None


def key(meta: Mapping[str, object], name: object = None) -> str:
    """`namespace/name`, as informers file it; of another object in the same namespace where `name` is given."""
    return f"{meta.get('namespace')}/{name or meta.get('name')}"


def owner(meta: Mapping[str, object]) -> Mapping[str, object] | None:
    """The owner reference that says which pod an object belongs to."""
    references = meta.get("ownerReferences")
    for reference in references if isinstance(references, list) else []:
        if is_object(reference) and reference.get("kind") == "Pod" and reference.get("controller"):
            return reference
    return None


def owned_by(claim: Mapping[str, object], pod: Mapping[str, object]) -> bool:
    """Whether the claim belongs to this very pod (both are metadata), not to an earlier one of its name."""
    reference = owner(claim)
    return reference is not None and reference.get("uid") == pod.get("uid")
