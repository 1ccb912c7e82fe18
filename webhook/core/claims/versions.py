"""The versions of resource.k8s.io, and what each has no word for.

    v1         1.34 and newer; what everything here is written in
    v1beta2    1.33 and newer, the same shape
    v1beta1    1.32 and newer; the fields of an exact request stand in the request itself
    v1alpha2   llmfit's documented manifest, an export format: see `manifest`

Every server that has consumable capacity serves v1 too, unless somebody has turned it off. In the beta versions
capacities are therefore not named: `kubectl` refuses a field that a 1.33 server does not know, and 1.34 and 1.35
convert it wrongly to v1beta1. A device is taken whole there. `firstAvailable` needs the gate DRAPrioritizedList, which
1.33 has off and 1.32 has not.
"""

from collections.abc import Collection
from typing import cast

from webhook.core.claims.spec import spec
from webhook.core.demand import Demand

API_VERSIONS = ("v1", "v1beta2", "v1beta1", "v1alpha2")
"""What `manifest` writes, newest first."""


def body(demand: Demand, api_version: str, classes: Collection[str] | None = None) -> dict[str, object]:
    """The ResourceClaimSpec in v1, v1beta2 or v1beta1; `classes` as in `spec`."""
    written = spec(demand, classes, sharing=api_version == "v1")
    if api_version == "v1beta1":
        devices = cast(dict[str, object], written["devices"])
        requests = cast(list[dict[str, object]], devices["requests"])
        devices["requests"] = [_flat(request) for request in requests]
    return written


def _flat(request: dict[str, object]) -> dict[str, object]:
    exact = request.pop("exactly", {})
    return {**request, **cast(dict[str, object], exact)}
