"""The claim of one admitted pod, recomputed from the pod's metadata: what the controller creates."""

from collections.abc import Collection, Mapping

from webhook import vocabulary
from webhook.core import demand
from webhook.core.claims import names
from webhook.core.claims.manifest import manifest
from webhook.core.policy import Policy


def companion(
    metadata: Mapping[str, object],
    policy: Policy,
    *,
    classes: Collection[str] | None = None,
) -> dict[str, object] | None:
    """The v1 ResourceClaim that the pod with this `metadata` waits for, owned by it; None where it waits for none:
    not annotated, disabled, no GPU needed, or a claim name that the webhook cannot have given. Raises Refusal where
    the annotations cannot be used. `classes` are the names of the DeviceClasses that exist, None where that is not
    known."""
    annotations = _texts(metadata.get("annotations"))
    name = annotations.get(vocabulary.CLAIM)
    if vocabulary.MODEL_FIT not in annotations or not names.is_for_review(name) or name is None:
        return None
    if _texts(metadata.get("labels")).get(vocabulary.INJECT) == vocabulary.INJECT_DISABLED:
        return None
    asked = demand.read(annotations, policy)
    if asked.need.cpu_only:
        return None
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"], "controller": True}
    namespace = str(metadata["namespace"])
    return manifest(asked, name=name, namespace=namespace, owner=owner, classes=classes)


def _texts(value: object) -> Mapping[str, str]:
    return value if isinstance(value, Mapping) else {}
