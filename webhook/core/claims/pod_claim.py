"""Builds the claim of an admitted pod from the pod's metadata alone. The controller creates it."""

from collections.abc import Collection, Mapping
from typing import cast

from webhook import constants
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import claim_names, device_request
from webhook.core.claims.manifest import build_manifest
from webhook.json_tree import get_object


def build_pod_claim(
    metadata: Mapping[str, object],
    config: AdmissionConfig,
    *,
    classes: Collection[str] | None = None,
) -> dict[str, object] | None:
    """The v1 ResourceClaim that a pod with this metadata, which is not exempt, waits for, owned by the pod. None if the
    pod needs no GPU, or names no claim that the webhook can have named. `classes` are the names of the existing
    DeviceClasses, None if unknown. Raises Denied for unusable annotations."""
    annotations = cast(Mapping[str, str], get_object(metadata, "annotations"))  # the API server accepts texts only
    name = annotations.get(constants.CLAIM)
    if name is None or not claim_names.is_from_review(name):
        return None
    request = device_request.from_annotations(annotations, config)
    if request.requirements.cpu_only:
        return None
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"], "controller": True}
    namespace = str(metadata["namespace"])
    return build_manifest(request, name=name, namespace=namespace, owner=owner, classes=classes)
