"""Which pod was injected: what tells the second call for a pod from the first one for a copy of it.

A pod has no uid while it is admitted, so it goes by its namespace and its name. One that a controller makes has only
the beginning of a name then, which a copy may have too, so it goes by its owner as well.
"""

import json
from collections.abc import Mapping

from webhook import vocabulary
from webhook.core import pods
from webhook.core.need import Need
from webhook.core.pods import Pod

_JSON = json.JSONEncoder(separators=(",", ":"))


def record(pod: Pod, namespace: str, need: Need) -> dict[str, str]:
    """The annotations that say what was injected, and into which pod."""
    figures = {"gpu.memory": need.gpu_memory_quantity}
    if need.memory_quantity:
        figures["memory"] = need.memory_quantity
    return {vocabulary.RESOURCES: _JSON.encode(figures), vocabulary.INJECTED_INTO: _identity(pod, namespace)}


def met_before(pod: Pod, wanted: Mapping[str, str]) -> bool:
    """Whether the pod went through here before: it carries the `record` that it is to get."""
    annotations = pod.annotations
    return all(annotations.get(key) == text for key, text in wanted.items())


def _identity(pod: Pod, namespace: str) -> str:
    """`models/llama`, or `models/llama-*` before the name is generated, and `models/llama-* of <uid>` where the pod has
    a controller."""
    metadata = pod.metadata
    name = metadata.get("name")
    if name:
        return f"{namespace}/{name}"
    generated = f"{namespace}/{metadata.get('generateName') or ''}*"
    for owner in pods.sequence(metadata, "ownerReferences", "metadata"):
        if isinstance(owner, dict) and owner.get("controller") is True:
            return f"{generated} of {owner.get('uid')}"
    return generated
