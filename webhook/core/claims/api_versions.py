"""Converts v1 claims to the other versions of resource.k8s.io.

    v1         1.34 and newer; the version that `build_spec` writes
    v1beta2    1.33 and newer; the same shape
    v1beta1    1.32 and newer; the fields of `exactly` are in the request itself
    v1alpha2   llmfit's documented manifest, for export only: see `manifest`

Every server with consumable capacity also serves v1, unless v1 is disabled. The beta versions therefore have no
`capacity`: kubectl rejects a field that a 1.33 server does not know, and 1.34 and 1.35 convert it wrongly to v1beta1.
Devices are allocated whole there. `firstAvailable` needs the feature gate DRAPrioritizedList, which is off by default
in 1.33 and does not exist in 1.32.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias, cast

from webhook.core.claims.claim_spec import MEMORY_REQUEST

SERVED_VERSIONS = ("v1", "v1beta2", "v1beta1")
"""Versions in which API servers accept claims, newest first."""

API_VERSIONS = (*SERVED_VERSIONS, "v1alpha2")
"""Versions that `build_manifest` writes."""

_Body: TypeAlias = dict[str, object]


def convert_claim(claim: Mapping[str, object], version: str) -> dict[str, object]:
    """A v1 ResourceClaim in one of SERVED_VERSIONS."""
    spec = cast(Mapping[str, object], claim["spec"])
    return {**claim, "apiVersion": f"resource.k8s.io/{version}", "spec": convert_spec(spec, version)}


def convert_spec(spec: Mapping[str, object], version: str) -> dict[str, object]:
    """The v1 ResourceClaimSpec that `build_spec` returns, in one of SERVED_VERSIONS."""
    if version == "v1":
        return dict(spec)
    devices = cast(Mapping[str, object], spec["devices"])
    requests = [
        _drop_capacity(request)
        for request in cast(list[_Body], devices["requests"])
        # Without `capacity` a request for system memory would take the device that all pods of the node share.
        if request["name"] != MEMORY_REQUEST
    ]
    converted: _Body = {"requests": [_inline_exactly(each) for each in requests] if version == "v1beta1" else requests}
    if "constraints" in devices:
        names = set(_request_names(requests))
        converted["constraints"] = [
            {**each, "requests": [name for name in cast(list[str], each["requests"]) if name in names]}
            for each in cast(list[_Body], devices["constraints"])
        ]
    return {"devices": converted}


def _drop_capacity(request: _Body) -> _Body:
    """The request without `capacity` and without the alternatives that become unreachable by that."""
    if "exactly" in request:
        return {**request, "exactly": _without_capacity(cast(_Body, request["exactly"]))}
    reachable: list[_Body] = []
    for alternative in map(_without_capacity, cast(list[_Body], request["firstAvailable"])):
        if not any(_implies(alternative, earlier) for earlier in reachable):
            reachable.append(alternative)
    if len(reachable) == 1:
        (only,) = reachable
        return {"name": request["name"], "exactly": {key: only[key] for key in only if key != "name"}}
    return {**request, "firstAvailable": reachable}


def _without_capacity(body: _Body) -> _Body:
    return {key: value for key, value in body.items() if key != "capacity"}


def _implies(later: _Body, earlier: _Body) -> bool:
    """Whether all devices for `later` are also devices for `earlier`, so that `later` is never tried."""
    same = all(later.get(key) == earlier.get(key) for key in ("deviceClassName", "count"))
    selectors = cast(list[object], later["selectors"])
    return same and all(each in selectors for each in cast(list[object], earlier["selectors"]))


def _request_names(requests: list[_Body]) -> Iterator[str]:
    """The names that a constraint can refer to."""
    for request in requests:
        yield str(request["name"])
        for alternative in cast(list[_Body], request.get("firstAvailable", [])):
            yield f"{request['name']}/{alternative['name']}"


def _inline_exactly(request: _Body) -> _Body:
    exactly = cast(_Body, request.get("exactly", {}))
    return {**{key: value for key, value in request.items() if key != "exactly"}, **exactly}
