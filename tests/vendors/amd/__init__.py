"""ROCm/k8s-gpu-dra-driver: one DeviceClass that matches whole GPUs, partitions and VFIO devices alike."""

from __future__ import annotations

from testbed.devices import Device, DeviceClass, optional_memory

DRIVER = "gpu.amd.com"
CLASSES = (DeviceClass("gpu.amd.com", "device.driver == 'gpu.amd.com'"),)


def gpu(name: str, memory: str = "192Gi", *, product: str = "AMD_Instinct_MI300X_OAM") -> Device:
    """A whole GPU. Where the driver cannot read the memory it publishes 80Gi (v0.1.0) or 0 (later)."""
    capacity = {"memory": memory, "computeUnits": "304", "simdUnits": "1216"}
    return Device(DRIVER, name, {"type": "amdgpu", "productName": product, "family": "AI"}, capacity)


def partition(name: str, memory: str = "24Gi", *, product: str = "AMD_Instinct_MI300X_OAM") -> Device:
    """A partition of a GPU; its memory is the partition's own."""
    capacity = {"memory": memory, "computeUnits": "38", "simdUnits": "152"}
    return Device(DRIVER, name, {"type": "amdgpu-partition", "productName": product, "family": "AI"}, capacity)


def vfio(name: str, memory: str | None = None) -> Device:
    """A GPU for pass-through; one that was bound to vfio-pci before the driver started has no memory."""
    return Device(DRIVER, name, {"type": "vfio"}, optional_memory(memory))
