"""sympozium-ai/llmfit-dra: GPUs, NPUs, the CPU and network cards of a node, distinguished by `kind`."""

from __future__ import annotations

from testbed.devices import Attribute, Device, DeviceClass, optional_memory

DRIVER = "llmfit.ai"
_OF_DRIVER = 'device.driver == "llmfit.ai"'
_HEALTHY = 'device.attributes["llmfit.ai"].healthy'
_NOT_VENDOR_MANAGED = "!('vendorManaged' in device.attributes[\"llmfit.ai\"])"


def _kind(kind: str) -> str:
    return f'device.attributes["llmfit.ai"].kind == "{kind}"'


CLASSES = (
    DeviceClass("llmfit.ai", f"{_OF_DRIVER} && {_HEALTHY} && {_NOT_VENDOR_MANAGED}"),
    DeviceClass("gpu.llmfit.ai", f"{_OF_DRIVER} && {_kind('gpu')} && {_HEALTHY} && {_NOT_VENDOR_MANAGED}"),
    DeviceClass("npu.llmfit.ai", f"{_OF_DRIVER} && {_kind('npu')} && {_HEALTHY}"),
    DeviceClass("cpu.llmfit.ai", f"{_OF_DRIVER} && {_kind('cpu')}"),
    DeviceClass("nic.llmfit.ai", f"{_OF_DRIVER} && {_kind('nic')} && {_HEALTHY}"),
)


def gpu(
    name: str,
    memory: str | None = "24Gi",
    *,
    healthy: bool = True,
    vendor_managed: bool = False,
    bandwidth: int | None = None,
    model: str = "GeForce RTX 4090",
) -> Device:
    """A GPU; None is a card whose memory llmfit does not know. `vendor_managed`: another driver allocates it.
    `bandwidth` is the attribute `memoryBandwidthGBs`, in GB/s."""
    attributes: dict[str, Attribute] = {**_attributes("gpu", model, healthy), "vendor": "nvidia", "backend": "cuda"}
    if vendor_managed:
        attributes["vendorManaged"] = True
    if bandwidth is not None:
        attributes["memoryBandwidthGBs"] = bandwidth
    return Device(DRIVER, name, attributes, optional_memory(memory))


def npu(name: str, memory: str | None = None, *, healthy: bool = True) -> Device:
    return Device(DRIVER, name, _attributes("npu", "Ryzen AI", healthy), optional_memory(memory))


def cpu(name: str, memory: str = "128Gi", *, healthy: bool = True) -> Device:
    """The node's CPU as one device: its `memory` is the system's RAM, which a claim takes whole."""
    return Device(DRIVER, name, _attributes("cpu", "EPYC 9654", healthy), {"memory": memory})


def nic(name: str, *, healthy: bool = True) -> Device:
    """A network card: no memory."""
    return Device(DRIVER, name, _attributes("nic", "ConnectX-7", healthy))


def _attributes(kind: str, model: str, healthy: bool) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {"kind": kind, "model": model, "healthy": healthy}
    return attributes if healthy else {**attributes, "healthReason": "test"}
