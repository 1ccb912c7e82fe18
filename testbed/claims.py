"""ResourceClaims written by hand, and what the scheduler allocated to them.

For tests of the test bed and for comparison; what the product writes comes from the product.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from testbed.api import JsonObject
from testbed.devices import RESOURCE_GROUP


class AllocatedDevice(NamedTuple):
    """One device of a claim."""

    driver: str
    pool: str
    device: str


def request(
    device_class: str, *selectors: str, name: str = "gpu", count: int = 1, capacity: Mapping[str, str] | None = None
) -> JsonObject:
    """A request for `count` devices of a class to which all CEL `selectors` apply; see `claim` for its shape."""
    body: JsonObject = {"name": name, "deviceClassName": device_class, "count": count}
    if selectors:
        body["selectors"] = [{"cel": {"expression": selector}} for selector in selectors]
    if capacity:
        body["capacity"] = {"requests": dict(capacity)}
    return body


def claim(name: str, *requests: JsonObject, owner: JsonObject | None = None, version: str = "v1") -> JsonObject:
    """A ResourceClaim; `owner` is the pod that it goes away with. v1beta1 has requests flat, later ones nest them."""
    metadata: JsonObject = {"name": name}
    if owner is not None:
        reference = {"apiVersion": "v1", "kind": "Pod", "controller": True}
        metadata["ownerReferences"] = [
            {**reference, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        ]
    return {
        "apiVersion": f"{RESOURCE_GROUP}/{version}",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": {"devices": {"requests": [item if version == "v1beta1" else _nested(item) for item in requests]}},
    }


def at_least(driver: str, memory: str) -> str:
    """CEL: the device has that much memory. Guarded, since one device without the key ends scheduling everywhere."""
    capacity = f'device.capacity["{driver}"]'
    return f'"memory" in {capacity} && {capacity}.memory.compareTo(quantity("{memory}")) >= 0'


def allocated(claim: JsonObject) -> list[AllocatedDevice]:
    """The devices that a claim holds now; empty while it has none."""
    allocation = claim.get("status", {}).get("allocation") or {}
    results = allocation.get("devices", {}).get("results", [])
    return [AllocatedDevice(result["driver"], result["pool"], result["device"]) for result in results]


def _nested(flat: JsonObject) -> JsonObject:
    return {"name": flat["name"], "exactly": {key: value for key, value in flat.items() if key != "name"}}
