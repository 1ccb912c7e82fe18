"""Pods as the webhook injects them, for tests of the controller that need no webhook."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from testbed.api import JsonObject
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.waiting import wait_for

FIT = '{"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 8}'
"""A model that needs a GPU of 8Gi."""

ANNOTATED = {"llmfit.ai/model-fit": FIT}


def injected_pod(
    name: str | None = None,
    *,
    generate_name: str | None = None,
    claim: str | None = None,
    annotations: Mapping[str, str] | None = None,
) -> JsonObject:
    """A pod that references `claim`, by default a claim with a unique name."""
    claim = claim or f"llama-7b-claim-{secrets.token_hex(5)}"
    return pod(
        name,
        generate_name=generate_name,
        annotations={**ANNOTATED, "llmfit.ai/claim": claim, **(annotations or {})},
        labels={"llmfit.ai/injected": "true"},
        claims={"modelfit": claim},
    )


def create_all(namespace: Namespace, manifests: Sequence[JsonObject], *, clients: int = 16) -> list[JsonObject]:
    """Creates the objects concurrently and returns them as created, in order."""
    with ThreadPoolExecutor(clients) as pool:
        return list(pool.map(namespace.create, manifests))


def managed_claims(namespace: Namespace) -> list[JsonObject]:
    """The claims in the namespace that the controller created."""
    return namespace.api.list(namespace.path("ResourceClaim"), labelSelector="app.kubernetes.io/managed-by=modelfit")


def owner_uids(claims: Sequence[JsonObject]) -> list[str]:
    """The uids of the pods that own the claims."""
    return [reference["uid"] for claim in claims for reference in claim["metadata"].get("ownerReferences", [])]


def wait_each_pod_has_its_claim(namespace: Namespace, *, timeout: float = 60) -> list[JsonObject]:
    """Waits until every injected pod owns a claim of the name that it references and no other managed claim exists.
    Returns the claims."""

    def pairs() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        pods = [each["metadata"] for each in namespace.pods("llmfit.ai/injected=true")]
        expected = {(each["annotations"]["llmfit.ai/claim"], each["uid"]) for each in pods}
        claims = managed_claims(namespace)
        return expected, {(claim["metadata"]["name"], uid) for claim in claims for uid in owner_uids([claim])}

    wait_for(
        f"each pod in {namespace.name} has its claim",
        pairs,
        lambda found: found[0] == found[1] and found[0],
        timeout=timeout,
        show=lambda found: f"{len(found[0] - found[1])} without a claim, {len(found[1] - found[0])} claims too many",
    )
    return managed_claims(namespace)
