"""Hand-written ResourceClaims, and the devices that the scheduler allocated to a claim.

For tests of the test bed; claims of the product come from the product.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from testbed.api import JsonObject
from testbed.devices import RESOURCE_GROUP


class AllocatedDevice(NamedTuple):
    """One allocated device."""

    driver: str
    pool: str
    device: str


def request(
    device_class: str, *selectors: str, name: str = "gpu", count: int = 1, capacity: Mapping[str, str] | None = None
) -> JsonObject:
    """A request for `count` devices of a class that match all CEL `selectors`, in the flat shape of v1beta1."""
    body: JsonObject = {"name": name, "deviceClassName": device_class, "count": count}
    if selectors:
        body["selectors"] = [{"cel": {"expression": selector}} for selector in selectors]
    if capacity:
        body["capacity"] = {"requests": dict(capacity)}
    return body


def claim(name: str, *requests: JsonObject, owner: JsonObject | None = None, version: str = "v1") -> JsonObject:
    """A ResourceClaim owned by the pod `owner`. v1beta1 has flat requests; later versions nest them in `exactly`."""
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
    """CEL: the device has at least that much memory. Guarded: an error on one device aborts scheduling on all nodes."""
    capacity = f'device.capacity["{driver}"]'
    return f'"memory" in {capacity} && {capacity}.memory.compareTo(quantity("{memory}")) >= 0'


def allocated(claim: JsonObject) -> list[AllocatedDevice]:
    """The devices that are allocated to a claim now."""
    allocation = claim.get("status", {}).get("allocation") or {}
    results = allocation.get("devices", {}).get("results", [])
    return [AllocatedDevice(result["driver"], result["pool"], result["device"]) for result in results]


def _nested(flat: JsonObject) -> JsonObject:
    return {"name": flat["name"], "exactly": {key: value for key, value in flat.items() if key != "name"}}
