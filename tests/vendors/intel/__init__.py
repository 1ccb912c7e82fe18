"""intel/intel-resource-drivers-for-kubernetes, GPUs: both DeviceClasses match by the driver's name."""

from __future__ import annotations

from testbed.devices import Device, DeviceClass

DRIVER = "gpu.intel.com"
_SELECTOR = 'device.driver == "gpu.intel.com"'
CLASSES = (DeviceClass("gpu.intel.com", _SELECTOR), DeviceClass("gpu-vfio.intel.com", _SELECTOR))


def gpu(name: str, memory: str = "48Gi", *, health: str = "Healthy", model: str = "Max 1100") -> Device:
    """A GPU with `health` Healthy, Unhealthy or Unknown. The driver also taints an unhealthy one (NoExecute)."""
    attributes = {"type": "gpu", "model": model, "family": "Max", "pciId": "0x0bda", "health": health}
    taints = [{"key": "HealthIssues-test", "effect": "NoExecute"}] if health == "Unhealthy" else []
    return Device(DRIVER, name, attributes, {"memory": memory, "millicores": "1k"}, taints=taints)


def vfio(name: str) -> Device:
    """A GPU bound to vfio-pci: its memory is published as 0Mi."""
    return Device(DRIVER, name, {"type": "gpu", "health": "Unknown"}, {"memory": "0Mi", "millicores": "1k"})
