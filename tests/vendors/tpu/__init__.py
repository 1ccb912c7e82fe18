"""kubernetes-sigs/dra-driver-google-tpu: chips with no capacity at all."""

from __future__ import annotations

from testbed.devices import Device, DeviceClass

DRIVER = "tpu.google.com"
CLASSES = (DeviceClass("tpu.google.com", 'device.driver == "tpu.google.com"'),)


def chip(name: str, *, generation: str = "v5e") -> Device:
    """One chip; all chips of a node carry the same uuid."""
    return Device(DRIVER, name, {"tpuGen": generation, "brand": "Google", "chipCount": 4, "uuid": "node-wide"})
