"""The metadata that the controller keeps of an object: little, because there may be ten thousand objects. For pods see
`stripped_pods`."""

from collections.abc import Collection, Mapping

from webhook import constants
from webhook.json_tree import JsonObject, get_list, get_object, is_object

_KEPT_FIELDS = ("namespace", "name", "uid", "deletionTimestamp", "ownerReferences", "annotations", "labels")
_KEPT_KEYS = {
    "annotations": (constants.MODEL_FIT, constants.MIRROR_POD),
    "labels": (constants.INJECT,),
}
_KEPT_OF_OWNER = ("kind", "name", "uid", "controller")
_MAX_CHARACTERS = 254
"""Limit of all texts. No valid name is that long, so a truncated text is never a valid one."""


def strip(obj: JsonObject, keep: Collection[str] = ("metadata",)) -> None:
    """Strips unused metadata in place, and all fields that are not in `keep`. Of annotations only their presence is
    kept; oversized values are truncated: any user who may create an object can give it 1 MB.

    Other threads may read the object meanwhile, so kept fields are never absent. New dictionaries are small, and share
    their keys.
    """
    for key in [key for key in obj if key not in keep]:
        del obj[key]
    if not is_object(obj.get("metadata")):
        return
    unstripped = get_object(obj, "metadata")
    metadata = {key: truncate(unstripped[key]) for key in _KEPT_FIELDS if key in unstripped}
    for field, keys in _KEPT_KEYS.items():
        texts = metadata.get(field)
        if is_object(texts):
            metadata[field] = {
                key: "" if field == "annotations" else truncate(texts[key]) for key in keys if key in texts
            }
    if "ownerReferences" in metadata:
        reference = owning_pod(metadata)
        kept = {key: truncate(reference[key]) for key in _KEPT_OF_OWNER if key in reference} if reference else None
        metadata["ownerReferences"] = [kept] if kept else []
    obj["metadata"] = metadata


def truncate(value: object) -> object:
    """A text in at most as many characters as any valid name has; other values unchanged."""
    return value[:_MAX_CHARACTERS] if isinstance(value, str) else value


def key(metadata: Mapping[str, object], name: object = None) -> str:
    """`namespace/name`, the key of informers and the queue; with `name`, that of another object in the namespace."""
    return f"{metadata.get('namespace')}/{name or metadata.get('name')}"


def owning_pod(metadata: Mapping[str, object]) -> Mapping[str, object] | None:
    """The owner reference to the object's controlling pod."""
    for reference in get_list(metadata, "ownerReferences"):
        if is_object(reference) and reference.get("kind") == "Pod" and reference.get("controller"):
            return reference
    return None


def is_owned_by(claim: Mapping[str, object], pod: Mapping[str, object]) -> bool:
    """Whether the claim belongs to this pod and not to an earlier one of its name. Both are metadata."""
    reference = owning_pod(claim)
    return reference is not None and reference.get("uid") == pod.get("uid")
