"""Pods and the metadata of claims, as in a cluster."""

from collections.abc import Mapping

CLAIM_NAME = "llama-7b-claim-3f9a1c2e04"
FIT = '{"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 8}'


def pod(
    name: str = "llama",
    uid: str = "uid-1",
    annotations: Mapping[str, str | None] | None = None,
    spec: Mapping[str, object] | None = None,
    **fields: object,
) -> dict[str, object]:
    """An injected pod. An annotation that is None is absent; `fields` belong to the metadata, `spec` to the spec."""
    merged = {"llmfit.ai/model-fit": FIT, "llmfit.ai/claim": CLAIM_NAME, **(annotations or {})}
    present = {key: value for key, value in merged.items() if value is not None}
    labels = {"llmfit.ai/injected": "true"}
    entries = [{"name": "modelfit", "resourceClaimName": CLAIM_NAME}]
    return {
        "metadata": {
            "namespace": "models", "name": name, "uid": uid, "labels": labels, "annotations": present, **fields
        },
        "spec": {"resourceClaims": entries, **(spec or {})},
    }  # fmt: skip


def pod_metadata(name: str = "llama", uid: str = "uid-1", **fields: object) -> dict[str, object]:
    """The metadata of an injected pod."""
    metadata = pod(name, uid, **fields)["metadata"]  # type: ignore[arg-type]
    assert isinstance(metadata, dict)
    return metadata


def claim(owner_uid: str | None = "uid-1", owner: str = "llama") -> dict[str, object]:
    """The metadata of a claim, owned by a pod, or without an owner."""
    metadata: dict[str, object] = {"namespace": "models", "name": CLAIM_NAME}
    if owner_uid is not None:
        reference = {"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": owner_uid, "controller": True}
        metadata["ownerReferences"] = [reference]
    return metadata
