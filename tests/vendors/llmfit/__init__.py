"""sympozium-ai/llmfit-dra: whatever llmfit detects on a node, GPUs, NPUs, the CPU and network cards, told by `kind`."""

from __future__ import annotations

from testbed.devices import Attribute, Device, DeviceClass, optional_memory

DRIVER = "llmfit.ai"
_HERE = 'device.driver == "llmfit.ai"'
_HEALTHY = 'device.attributes["llmfit.ai"].healthy'
_OURS = "!('vendorManaged' in device.attributes[\"llmfit.ai\"])"


def _kind(kind: str) -> str:
    return f'device.attributes["llmfit.ai"].kind == "{kind}"'


CLASSES = (
    DeviceClass("llmfit.ai", f"{_HERE} && {_HEALTHY} && {_OURS}"),
    DeviceClass("gpu.llmfit.ai", f"{_HERE} && {_kind('gpu')} && {_HEALTHY} && {_OURS}"),
    DeviceClass("npu.llmfit.ai", f"{_HERE} && {_kind('npu')} && {_HEALTHY}"),
    DeviceClass("cpu.llmfit.ai", f"{_HERE} && {_kind('cpu')}"),
    DeviceClass("nic.llmfit.ai", f"{_HERE} && {_kind('nic')} && {_HEALTHY}"),
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
    """A GPU; None is a card whose memory llmfit does not know. `vendor_managed`: another driver hands it out.
    `bandwidth` is the attribute `memoryBandwidthGBs`, in GB/s."""
    attributes: dict[str, Attribute] = {**_seen("gpu", model, healthy), "vendor": "nvidia", "backend": "cuda"}
    if vendor_managed:
        attributes["vendorManaged"] = True
    if bandwidth is not None:
        attributes["memoryBandwidthGBs"] = bandwidth
    return Device(DRIVER, name, attributes, optional_memory(memory))


def npu(name: str, memory: str | None = None, *, healthy: bool = True) -> Device:
    return Device(DRIVER, name, _seen("npu", "Ryzen AI", healthy), optional_memory(memory))


def cpu(name: str, memory: str = "128Gi", *, healthy: bool = True) -> Device:
    """The node's CPU as one device: its `memory` is the system's RAM, which a claim takes whole."""
    return Device(DRIVER, name, _seen("cpu", "EPYC 9654", healthy), {"memory": memory})


def nic(name: str, *, healthy: bool = True) -> Device:
    """A network card: no memory."""
    return Device(DRIVER, name, _seen("nic", "ConnectX-7", healthy))


def _seen(kind: str, model: str, healthy: bool) -> dict[str, Attribute]:
    seen: dict[str, Attribute] = {"kind": kind, "model": model, "healthy": healthy}
    return seen if healthy else {**seen, "healthReason": "test"}
