"""kubernetes-sigs/dra-driver-nvidia-gpu: whole GPUs, static MIG devices and VFIO devices, all in one pool."""

from __future__ import annotations

from testbed.devices import Device, DeviceClass, SharedCapacity, Version, optional_memory

DRIVER = "gpu.nvidia.com"


def _class(name: str, kind: str) -> DeviceClass:
    return DeviceClass(
        name, f"device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == '{kind}'"
    )


CLASSES = (_class("gpu.nvidia.com", "gpu"), _class("mig.nvidia.com", "mig"), _class("vfio.gpu.nvidia.com", "vfio"))


def gpu(name: str, memory: str | None = "81559Mi", *, product: str = "NVIDIA H100 80GB HBM3") -> Device:
    """A whole GPU. Its memory is what NVML reports, below the label (81559Mi for 80 GB); None where NVML has none."""
    return Device(DRIVER, name, {"type": "gpu", **_chip(name, product)}, optional_memory(memory))


def shared_gpu(name: str, memory: str, *, product: str = "NVIDIA H100 80GB HBM3") -> Device:
    """A GPU under the alpha gate ConsumableShares: claims take parts of its memory."""
    capacity = {"memory": SharedCapacity(memory, minimum="1Mi", step="1Mi")}
    return Device(DRIVER, name, {"type": "gpu", **_chip(name, product)}, capacity, shareable=True)


def mig(name: str, memory: str = "4864Mi", *, profile: str = "1g.5gb") -> Device:
    """A static MIG device: a part of an A100 with a memory of its own, smaller than its label says."""
    attributes = {"type": "mig", "profile": profile, "parentUUID": "GPU-parent", **_chip(name, "NVIDIA A100 40GB")}
    return Device(DRIVER, name, attributes, {"memory": memory})


def vfio(name: str, memory: str = "80Gi") -> Device:
    """A GPU for pass-through: `addressableMemory`, and no `memory`."""
    return Device(DRIVER, name, {"type": "vfio", "productName": "NVIDIA H100"}, {"addressableMemory": memory})


def _chip(name: str, product: str) -> dict[str, str | Version]:
    return {
        "uuid": f"GPU-{name}",
        "productName": product,
        "brand": "Nvidia",
        "architecture": "Hopper",
        "cudaComputeCapability": Version("9.0.0"),
    }
