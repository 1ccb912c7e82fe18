"""Pods as the webhook leaves them, for tests of the controller that can do without the webhook."""

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
    """A pod that waits for `claim`, by default one of a name that nobody else has."""
    claim = claim or f"llama-7b-claim-{secrets.token_hex(5)}"
    return pod(
        name,
        generate_name=generate_name,
        annotations={**ANNOTATED, "llmfit.ai/claim": claim, **(annotations or {})},
        labels={"llmfit.ai/injected": "true"},
        claims={"modelfit": claim},
    )


def create_all(namespace: Namespace, manifests: Sequence[JsonObject], *, clients: int = 16) -> list[JsonObject]:
    """Creates them, several at a time; the objects as created, in order."""
    with ThreadPoolExecutor(clients) as pool:
        return list(pool.map(namespace.create, manifests))


def managed_claims(namespace: Namespace) -> list[JsonObject]:
    """The claims here that the controller made."""
    return namespace.api.list(namespace.path("ResourceClaim"), labelSelector="app.kubernetes.io/managed-by=modelfit")


def owner_uids(claims: Sequence[JsonObject]) -> list[str]:
    """The uid of each claim's pod."""
    return [reference["uid"] for claim in claims for reference in claim["metadata"].get("ownerReferences", [])]


def wait_each_pod_has_its_claim(namespace: Namespace, *, timeout: float = 60) -> list[JsonObject]:
    """Waits until every pod here has a claim under the name that it waits for, owned by it, and no other claim of ours
    is here. The claims."""

    def pairs() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        pods = [made["metadata"] for made in namespace.pods("llmfit.ai/injected=true")]
        wanted = {(made["annotations"]["llmfit.ai/claim"], made["uid"]) for made in pods}
        there = managed_claims(namespace)
        return wanted, {(claim["metadata"]["name"], uid) for claim in there for uid in owner_uids([claim])}

    wait_for(
        f"each pod in {namespace.name} has its claim",
        pairs,
        lambda seen: seen[0] == seen[1] and seen[0],
        timeout=timeout,
        show=lambda seen: f"{len(seen[0] - seen[1])} without a claim, {len(seen[1] - seen[0])} claims too many",
    )
    return managed_claims(namespace)
