"""Project-HAMi/k8s-dra-driver: GPUs that are always shareable, by memory and by cores."""

from __future__ import annotations

from testbed.devices import Device, DeviceClass, SharedCapacity

DRIVER = "hami-core-gpu.project-hami.io"
CLASSES = (
    DeviceClass(
        DRIVER,
        f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'hami-gpu'",
        extended_resource="nvidia.com/gpu",
    ),
)


def gpu(name: str, memory: str = "80Gi", *, product: str = "NVIDIA H100") -> Device:
    """A claim that names neither memory nor cores takes the whole card."""
    attributes = {"type": "hami-gpu", "productName": product, "brand": "Nvidia", "uuid": f"GPU-{name}"}
    capacity = {
        "memory": SharedCapacity(memory, minimum="1Mi", step="1Mi"),
        "cores": SharedCapacity("100", minimum="0", step="1"),
    }
    return Device(DRIVER, name, attributes, capacity, shareable=True)
