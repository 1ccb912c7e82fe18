"""The claim of one admitted pod, recomputed from the pod's metadata: what the controller creates."""

from collections.abc import Collection, Mapping

from webhook import constants
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import claim_names, device_request
from webhook.core.claims.manifest import build_manifest


def build_pod_claim(
    metadata: Mapping[str, object],
    config: AdmissionConfig,
    *,
    classes: Collection[str] | None = None,
) -> dict[str, object] | None:
    """The v1 ResourceClaim that the pod with this `metadata` waits for, owned by it; None where it waits for none:
    not annotated, disabled, no GPU needed, or a claim name that the webhook cannot have given. Raises Refusal where
    the annotations cannot be used. `classes` are the names of the DeviceClasses that exist, None where that is not
    known."""
    annotations = _texts(metadata.get("annotations"))
    name = annotations.get(constants.CLAIM)
    if constants.MODEL_FIT not in annotations or not claim_names.is_from_review(name) or name is None:
        return None
    if _texts(metadata.get("labels")).get(constants.INJECT) == constants.INJECT_DISABLED:
        return None
    asked = device_request.from_annotations(annotations, config)
    if asked.requirements.cpu_only:
        return None
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"], "controller": True}
    namespace = str(metadata["namespace"])
    return build_manifest(asked, name=name, namespace=namespace, owner=owner, classes=classes)


def _texts(value: object) -> Mapping[str, str]:
    return value if isinstance(value, Mapping) else {}
