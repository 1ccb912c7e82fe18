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

from collections.abc import Iterator, Mapping
from typing import TypeAlias, cast

from webhook.core.claims.claim_spec import MEMORY_REQUEST

SERVED_VERSIONS = ("v1", "v1beta2", "v1beta1")
"""Versions that API servers take claims in, newest first."""

API_VERSIONS = (*SERVED_VERSIONS, "v1alpha2")
"""Versions that `manifest` writes."""

_Body: TypeAlias = dict[str, object]


def convert_claim(claim: Mapping[str, object], version: str) -> dict[str, object]:
    """A v1 ResourceClaim as an API server of one of SERVED_VERSIONS takes it."""
    spec = cast(Mapping[str, object], claim["spec"])
    return {**claim, "apiVersion": f"resource.k8s.io/{version}", "spec": convert_spec(spec, version)}


def convert_spec(spec: Mapping[str, object], version: str) -> dict[str, object]:
    """A v1 ResourceClaimSpec of `spec` in another of SERVED_VERSIONS."""
    if version == "v1":
        return dict(spec)
    devices = cast(Mapping[str, object], spec["devices"])
    requests = [
        _without_capacity(request)
        for request in cast(list[_Body], devices["requests"])
        # System memory is a share of a device that all pods of a node take from.
        if request["name"] != MEMORY_REQUEST
    ]
    renewed: _Body = {"requests": [_flat(request) for request in requests] if version == "v1beta1" else requests}
    if "constraints" in devices:
        names = set(_names(requests))
        renewed["constraints"] = [
            {**each, "requests": [name for name in cast(list[str], each["requests"]) if name in names]}
            for each in cast(list[_Body], devices["constraints"])
        ]
    return {"devices": renewed}


def _without_capacity(request: _Body) -> _Body:
    if "exactly" in request:
        return {**request, "exactly": _whole(cast(_Body, request["exactly"]))}
    reachable: list[_Body] = []
    for alternative in map(_whole, cast(list[_Body], request["firstAvailable"])):
        if not any(_implies(alternative, earlier) for earlier in reachable):
            reachable.append(alternative)
    if len(reachable) == 1:
        (only,) = reachable
        return {"name": request["name"], "exactly": {key: only[key] for key in only if key != "name"}}
    return {**request, "firstAvailable": reachable}


def _whole(body: _Body) -> _Body:
    return {key: value for key, value in body.items() if key != "capacity"}


def _implies(later: _Body, earlier: _Body) -> bool:
    """Whether devices for `later` would do for `earlier` too, so that it is never its turn."""
    same = all(later.get(key) == earlier.get(key) for key in ("deviceClassName", "count"))
    conditions = cast(list[object], later["selectors"])
    return same and all(each in conditions for each in cast(list[object], earlier["selectors"]))


def _names(requests: list[_Body]) -> Iterator[str]:
    """What a constraint may refer to."""
    for request in requests:
        yield str(request["name"])
        for alternative in cast(list[_Body], request.get("firstAvailable", [])):
            yield f"{request['name']}/{alternative['name']}"


def _flat(request: _Body) -> _Body:
    exact = cast(_Body, request.get("exactly", {}))
    return {**{key: value for key, value in request.items() if key != "exactly"}, **exact}
