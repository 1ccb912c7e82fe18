"""Devices as DRA drivers publish them in ResourceSlices, and DeviceClasses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from testbed.api import JsonObject

RESOURCE_GROUP = "resource.k8s.io"


@dataclass(frozen=True)
class Version:
    """An attribute of type version, e.g. Version("9.0.0"). A plain str is one of type string."""

    text: str


@dataclass(frozen=True)
class SharedCapacity:
    """A capacity with a request policy, of which claims consume parts.

    A claim that does not request it consumes `default` (None: all of it). A requested amount is rounded up to `minimum`
    and then to a multiple of `step`.
    """

    value: str
    minimum: str
    step: str
    default: str | None = None


Attribute: TypeAlias = str | bool | int | Version
Capacity: TypeAlias = str | SharedCapacity


@dataclass(frozen=True)
class Device:
    """One device of `driver`. `shareable` is `allowMultipleAllocations`; `taints` as in the ResourceSlice API."""

    driver: str
    name: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    capacity: Mapping[str, Capacity] = field(default_factory=dict)
    shareable: bool = False
    taints: Sequence[Mapping[str, str]] = ()

    def manifest(self, version: str) -> JsonObject:
        """The entry in `spec.devices` of a ResourceSlice of that resource.k8s.io version (v1, v1beta2 or v1beta1)."""
        body: JsonObject = {"attributes": {name: _attribute(value) for name, value in self.attributes.items()}}
        if self.capacity:
            body["capacity"] = {name: _capacity(value) for name, value in self.capacity.items()}
        if self.shareable:
            body["allowMultipleAllocations"] = True
        if self.taints:
            body["taints"] = [dict(taint) for taint in self.taints]
        return {"name": self.name, "basic": body} if version == "v1beta1" else {"name": self.name, **body}


@dataclass(frozen=True)
class DeviceClass:
    """A DeviceClass with one CEL selector and, if set, an extended resource name."""

    name: str
    selector: str
    extended_resource: str | None = None

    def manifest(self, version: str) -> JsonObject:
        spec: JsonObject = {"selectors": [{"cel": {"expression": self.selector}}]}
        if self.extended_resource is not None and version == "v1":
            spec["extendedResourceName"] = self.extended_resource
        return {
            "apiVersion": f"{RESOURCE_GROUP}/{version}",
            "kind": "DeviceClass",
            "metadata": {"name": self.name},
            "spec": spec,
        }


def resource_slice(name: str, driver: str, node: str, devices: Sequence[Device], version: str = "v1") -> JsonObject:
    """The only ResourceSlice of the driver's pool on that node."""
    return {
        "apiVersion": f"{RESOURCE_GROUP}/{version}",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [device.manifest(version) for device in devices],
        },
    }


def _attribute(value: Attribute) -> JsonObject:
    # bool first: a bool is an int.
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    if isinstance(value, Version):
        return {"version": value.text}
    return {"string": value}


def _capacity(value: Capacity) -> JsonObject:
    if isinstance(value, str):
        return {"value": value}
    policy = {"default": value.default or value.value, "validRange": {"min": value.minimum, "step": value.step}}
    return {"value": value.value, "requestPolicy": policy}


def optional_memory(memory: str | None) -> dict[str, Capacity]:
    """The capacity of a device whose driver publishes `memory` only if it can read it."""
    return {} if memory is None else {"memory": memory}
