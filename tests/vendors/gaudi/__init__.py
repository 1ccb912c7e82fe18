"""intel/intel-resource-drivers-for-kubernetes, Gaudi: accelerators with no capacity at all."""

from __future__ import annotations

from testbed.devices import Device, DeviceClass

DRIVER = "gaudi.intel.com"
CLASSES = (DeviceClass("gaudi.intel.com", 'device.driver == "gaudi.intel.com"'),)


def accelerator(name: str, *, model: str = "Gaudi3") -> Device:
    return Device(DRIVER, name, {"model": model, "healthy": True})
