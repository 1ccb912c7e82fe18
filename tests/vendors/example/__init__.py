"""kubernetes-sigs/dra-example-driver, its GPU profile: what people try DRA with before they have hardware."""

from __future__ import annotations

from testbed.devices import Device, DeviceClass, SharedCapacity

DRIVER = "gpu.example.com"
CLASSES = (DeviceClass("gpu.example.com", "device.driver == 'gpu.example.com'"),)


def gpu(name: str, memory: str = "80Gi", *, shareable: bool = False) -> Device:
    """`shareable` is the chart's `gpuAllowMultipleAllocations`: parts of 1Gi and of 1 compute; a claim that does not
    name one of them takes all of it."""
    share = SharedCapacity(memory, minimum="1Gi", step="1Gi") if shareable else memory
    compute = SharedCapacity("100", minimum="1", step="1") if shareable else "100"
    attributes = {"model": "LATEST-GPU-MODEL", "uuid": f"gpu-{name}"}
    return Device(DRIVER, name, attributes, {"memory": share, "compute": compute}, shareable=shareable)
