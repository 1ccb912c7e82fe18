"""Whole manifests: a claim or a template, with its provenance."""

from collections.abc import Collection, Mapping
from typing import Literal

from webhook import vocabulary
from webhook.core import quantities
from webhook.core.claims.spec import spec
from webhook.core.claims.versions import API_VERSIONS, translated
from webhook.core.demand import Demand
from webhook.core.need import Need

Kind = Literal["claim", "template"]


def manifest(
    demand: Demand,
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
        claim = _documented(demand.need)
    else:
        provenance = {"labels": {vocabulary.MANAGED_BY: vocabulary.MANAGED_BY_US}, "annotations": _origin(demand.need)}
        claim = translated(spec(demand, classes), api_version)
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


def _documented(need: Need) -> dict[str, object]:
    """The spec of llmfit's documented v1alpha2 manifest. An export format: no API server ever accepted
    spec.resources."""
    resources: dict[str, str] = {}
    if need.memory:
        resources["memory"] = quantities.plain(need.memory)
    resources["gpu.memory"] = quantities.plain(need.gpu_memory)
    return {"resourceClassName": "gpu-memory-class", "resources": resources}


def _origin(need: Need) -> dict[str, str]:
    origin = {vocabulary.CLAIM_GPU_MEMORY: need.gpu_memory_quantity}
    if need.memory_quantity:
        origin[vocabulary.CLAIM_MEMORY] = need.memory_quantity
    if need.model:
        origin[vocabulary.CLAIM_MODEL] = need.model[:253]
    return origin
