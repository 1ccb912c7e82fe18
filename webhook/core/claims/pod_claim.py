"""Builds the claim of an admitted pod from the stored pod. The controller creates it."""

import dataclasses
from collections.abc import Collection, Mapping
from typing import cast

from webhook import constants
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import claim_names, device_request
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.claims.manifest import MAX_MODEL, build_manifest
from webhook.json_tree import get_list, get_object, get_text, is_object


def find_claim_name(pod: Mapping[str, object]) -> str | None:
    """The claim that the pod waits for: the immutable entry in spec.resourceClaims names it. None if the webhook cannot
    have chosen the name."""
    for entry in get_list(pod, "spec", "resourceClaims"):
        if is_object(entry) and entry.get("name") == constants.ALIAS:
            name = get_text(entry, "resourceClaimName")
            return name if claim_names.is_from_review(name) else None
    return None


def parse_request(pod: Mapping[str, object], config: AdmissionConfig) -> DeviceRequest:
    """The device request of a stored pod, which is annotated: only what its claim is built from, so that its size is
    bounded, whatever the annotations are. Raises Denied for unusable annotations."""
    annotations = get_object(pod, "metadata", "annotations")
    request = device_request.from_annotations(cast(Mapping[str, str], annotations), config)  # stored values are texts
    requirements = request.requirements
    compact = dataclasses.replace(
        requirements,
        model=requirements.model and requirements.model[:MAX_MODEL],
        tensor_parallel=(),
        context=None,
        warnings=(),
    )
    return dataclasses.replace(request, requirements=compact)


def build_pod_claim(
    pod: Mapping[str, object],
    config: AdmissionConfig,
    *,
    request: DeviceRequest | None = None,
    classes: Collection[str] | None = None,
) -> dict[str, object] | None:
    """The v1 ResourceClaim that this stored pod, which is not exempt, waits for, owned by the pod. None if the pod
    needs no GPU, or names no claim that the webhook can have named. `request` is its device request if it is known
    already; `classes` are the names of the existing DeviceClasses, None if unknown. Raises Denied for unusable
    annotations."""
    name = find_claim_name(pod)
    if name is None:
        return None
    request = request or parse_request(pod, config)
    if request.requirements.cpu_only:
        return None
    metadata = get_object(pod, "metadata")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"], "controller": True}
    namespace = str(metadata["namespace"])
    return build_manifest(request, name=name, namespace=namespace, owner=owner, classes=classes)
