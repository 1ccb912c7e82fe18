"""kubernetes-sigs/dra-example-driver, its GPU profile: what people try DRA with before they have hardware."""

from __future__ import annotations

from ..devices import Device, DeviceClass, Share

DRIVER = "gpu.example.com"
CLASSES = (DeviceClass("gpu.example.com", "device.driver == 'gpu.example.com'"),)


def gpu(name: str, memory: str = "80Gi", *, shareable: bool = False) -> Device:
    """`shareable` is the chart's `gpuAllowMultipleAllocations`: parts of 1Gi, a claim that names none takes all."""
    share = Share(memory, minimum="1Gi", step="1Gi") if shareable else memory
    attributes = {"model": "LATEST-GPU-MODEL", "uuid": f"gpu-{name}"}
    return Device(DRIVER, name, attributes, {"memory": share, "compute": "100"}, shareable=shareable)
