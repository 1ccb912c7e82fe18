"""Which pod was injected: what tells the second call for a pod from the first one for a copy of it.

A pod has no uid while it is admitted, so it goes by its namespace and its name. One that a controller makes has only
the beginning of a name then, which a copy may have too, so it goes by its owner as well.
"""

import json
from collections.abc import Mapping

from webhook import constants
from webhook.core.admission import pods
from webhook.core.admission.pods import Pod
from webhook.core.fits.requirements import ModelRequirements

_JSON = json.JSONEncoder(separators=(",", ":"))


def record(pod: Pod, namespace: str, requirements: ModelRequirements) -> dict[str, str]:
    """The annotations that say what was injected, and into which pod."""
    figures = {"gpu.memory": requirements.gpu_memory_quantity}
    if requirements.memory_quantity:
        figures["memory"] = requirements.memory_quantity
    return {constants.RESOURCES: _JSON.encode(figures), constants.INJECTED_INTO: _identity(pod, namespace)}


def already_injected(pod: Pod, wanted: Mapping[str, str]) -> bool:
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
