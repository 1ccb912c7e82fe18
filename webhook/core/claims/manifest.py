"""Builds the manifest of a ResourceClaim or ResourceClaimTemplate."""

from collections.abc import Collection, Mapping
from typing import Literal

from webhook import constants
from webhook.core.claims.api_versions import API_VERSIONS, convert_spec
from webhook.core.claims.claim_spec import build_spec
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.fits import quantities
from webhook.core.fits.requirements import ModelRequirements

MAX_MODEL = 253
"""Characters of the model's name that a claim records."""


def build_manifest(
    request: DeviceRequest,
    *,
    name: str,
    namespace: str | None = None,
    kind: Literal["claim", "template"] = "claim",
    api_version: str = "v1",
    owner: Mapping[str, object] | None = None,
    classes: Collection[str] | None = None,
) -> dict[str, object]:
    """A ResourceClaim or ResourceClaimTemplate. `owner` is one entry of metadata.ownerReferences; `classes` are the
    names of the existing DeviceClasses, None if unknown. Raises ValueError for an API version not in API_VERSIONS."""
    if api_version not in API_VERSIONS:
        raise ValueError(f"api_version {api_version!r}; want one of {', '.join(API_VERSIONS)}")
    metadata: dict[str, object] = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    if owner is not None:
        metadata["ownerReferences"] = [dict(owner)]
    if api_version == "v1alpha2":
        spec = _v1alpha2_spec(request.requirements)
    else:
        metadata["labels"] = {constants.MANAGED_BY: constants.MANAGED_BY_US}
        metadata["annotations"] = _provenance(request.requirements)
        spec = convert_spec(build_spec(request, classes), api_version)
    # The labels and annotations of a template are not passed on to its claims. kube-controller-manager creates those,
    # so the managed-by label would be wrong. Its workers also write into the annotations that a template passes on
    # (Kubernetes 1.36, pkg/controller/resourceclaim), which is a race when many pods are created at once.
    return {
        "apiVersion": f"resource.k8s.io/{api_version}",
        "kind": "ResourceClaim" if kind == "claim" else "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": spec if kind == "claim" else {"spec": spec},
    }


def _v1alpha2_spec(requirements: ModelRequirements) -> dict[str, object]:
    """The spec in llmfit's documentation. For export only: no API server ever accepted spec.resources."""
    resources: dict[str, str] = {}
    if requirements.memory:
        resources["memory"] = quantities.unrounded(requirements.memory)
    resources["gpu.memory"] = quantities.unrounded(requirements.gpu_memory)
    return {"resourceClassName": "gpu-memory-class", "resources": resources}


def _provenance(requirements: ModelRequirements) -> dict[str, str]:
    annotations = {constants.CLAIM_GPU_MEMORY: requirements.gpu_memory_quantity}
    if requirements.memory_quantity:
        annotations[constants.CLAIM_MEMORY] = requirements.memory_quantity
    if requirements.model:
        annotations[constants.CLAIM_MODEL] = requirements.model[:MAX_MODEL]
    return annotations
