"""Whole manifests: a claim or a template, with its provenance."""

from collections.abc import Collection, Mapping
from typing import Literal

from webhook import constants
from webhook.core.claims.api_versions import API_VERSIONS, convert_spec
from webhook.core.claims.claim_spec import build_spec
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.fits import quantities
from webhook.core.fits.requirements import ModelRequirements

Kind = Literal["claim", "template"]


def build_manifest(
    demand: DeviceRequest,
    *,
    name: str,
    namespace: str | None = None,
    kind: Kind = "claim",
    api_version: str = "v1",
    owner: Mapping[str, object] | None = None,
    classes: Collection[str] | None = None,
) -> dict[str, object]:
    """A ResourceClaim or ResourceClaimTemplate. `owner` is one entry of metadata.ownerReferences; `classes` are the
    names of the DeviceClasses that exist, None where that is not known. Raises ValueError for an API version that is
    not in API_VERSIONS."""
    if api_version not in API_VERSIONS:
        raise ValueError(f"api_version {api_version!r}; want one of {', '.join(API_VERSIONS)}")
    if api_version == "v1alpha2":
        provenance: dict[str, object] = {}
        claim = _documented(demand.requirements)
    else:
        provenance = {
            "labels": {constants.MANAGED_BY: constants.MANAGED_BY_US},
            "annotations": _origin(demand.requirements),
        }
        claim = convert_spec(build_spec(demand, classes), api_version)
    metadata: dict[str, object] = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    if owner is not None:
        metadata["ownerReferences"] = [dict(owner)]
    metadata |= provenance
    # A template's provenance stays its own. Its claims are made by kube-controller-manager, so our managed-by label
    # would be untrue on them; and its workers write into the annotations that a template passes on (Kubernetes 1.36,
    # pkg/controller/resourceclaim), which many pods at once make a race.
    return {
        "apiVersion": f"resource.k8s.io/{api_version}",
        "kind": "ResourceClaim" if kind == "claim" else "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": claim if kind == "claim" else {"spec": claim},
    }


def _documented(requirements: ModelRequirements) -> dict[str, object]:
    """The spec of llmfit's documented v1alpha2 manifest. An export format: no API server ever accepted
    spec.resources."""
    resources: dict[str, str] = {}
    if requirements.memory:
        resources["memory"] = quantities.unrounded(requirements.memory)
    resources["gpu.memory"] = quantities.unrounded(requirements.gpu_memory)
    return {"resourceClassName": "gpu-memory-class", "resources": resources}


def _origin(requirements: ModelRequirements) -> dict[str, str]:
    origin = {constants.CLAIM_GPU_MEMORY: requirements.gpu_memory_quantity}
    if requirements.memory_quantity:
        origin[constants.CLAIM_MEMORY] = requirements.memory_quantity
    if requirements.model:
        origin[constants.CLAIM_MODEL] = requirements.model[:253]
    return origin
