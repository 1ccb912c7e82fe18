"""One node's worth of devices for each vendor, and what is known of each device from the driver's documentation.

Each inventory has devices that fit and are too small, partitions, pass-through, sick and unreadable ones; and those of
other vendors, large enough for anything, stand between them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from testbed.devices import Device
from tests.cluster.drivers import amd, example, gaudi, hami, intel, llmfit, nvidia, tpu

WHOLE, PART = "whole", "part"


@dataclass(frozen=True)
class Specimen:
    """A device and the facts. `kind` is WHOLE, PART (of a card), or why no model may have it; `mebibytes` is its
    memory; `model` is equal on cards of one model; `shared`: several models may have parts of it."""

    device: Device
    kind: str
    mebibytes: int = 0
    model: str = ""
    shared: bool = False


def _whole(device: Device, mebibytes: int, model: str, *, shared: bool = False) -> Specimen:
    return Specimen(device, WHOLE, mebibytes, model, shared)


def _gib(amount: int) -> int:
    return amount * 1024


def _untainted(device: Device) -> Device:
    """As the driver publishes it where device taints are off."""
    return dataclasses.replace(device, taints=())


_STRANGERS = (
    Specimen(nvidia.gpu("x-nvidia", "1Ti"), "foreign"),
    Specimen(amd.gpu("x-amd", "1Ti"), "foreign"),
    Specimen(intel.gpu("x-intel", "1Ti"), "foreign"),
    Specimen(llmfit.gpu("x-llmfit", "1Ti"), "foreign"),
    Specimen(hami.gpu("x-hami", "1Ti"), "foreign"),
    Specimen(example.gpu("x-example", "1Ti"), "foreign"),
    Specimen(gaudi.accelerator("x-gaudi"), "foreign"),
    Specimen(tpu.chip("x-tpu"), "foreign"),
)


def strangers(driver: str, turn: int) -> list[Specimen]:
    """Two devices of other drivers; the others have their turn in other trials."""
    others = [each for each in _STRANGERS if each.device.driver != driver]
    return [others[turn % len(others)], others[(turn + 1) % len(others)]]


NVIDIA = [
    Specimen(nvidia.vfio("vfio", "192Gi"), "vfio"),
    Specimen(nvidia.gpu("unreadable", None), "unreadable"),
    Specimen(nvidia.mig("mig-5", "4864Mi"), PART, 4864, "A100"),
    _whole(nvidia.gpu("h100-a"), 81559, "H100"),
    Specimen(nvidia.mig("mig-20-a", "19968Mi", profile="3g.20gb"), PART, 19968, "A100"),
    Specimen(nvidia.mig("mig-20-b", "19968Mi", profile="3g.20gb"), PART, 19968, "A100"),
    _whole(nvidia.gpu("a10", "23028Mi", product="NVIDIA A10"), 23028, "A10"),
    _whole(nvidia.gpu("h100-b"), 81559, "H100"),
    _whole(nvidia.gpu("l4", "6Gi", product="NVIDIA L4"), _gib(6), "L4"),
]
"""Whole cards of 80, 24 and 6 GB as NVML counts them."""

NVIDIA_SHARED = [
    Specimen(nvidia.vfio("vfio", "192Gi"), "vfio"),
    Specimen(nvidia.gpu("unreadable", None), "unreadable"),
    Specimen(nvidia.mig("mig-20-a", "19968Mi", profile="3g.20gb"), PART, 19968, "A100"),
    _whole(nvidia.shared_gpu("h100-a", "81559Mi"), 81559, "H100", shared=True),
    _whole(nvidia.shared_gpu("h100-b", "81559Mi"), 81559, "H100", shared=True),
    _whole(nvidia.shared_gpu("l4", "6Gi", product="NVIDIA L4"), _gib(6), "L4", shared=True),
]

AMD = [
    Specimen(amd.vfio("vfio", "192Gi"), "vfio"),
    Specimen(amd.vfio("vfio-bound"), "vfio"),
    Specimen(amd.gpu("unreadable", "0"), "unreadable"),
    Specimen(amd.partition("cpx-a"), PART, _gib(24), "MI300X"),
    _whole(amd.gpu("mi300x-a"), _gib(192), "MI300X"),
    Specimen(amd.partition("cpx-b"), PART, _gib(24), "MI300X"),
    _whole(amd.gpu("w7900", "48Gi", product="AMD_Radeon_PRO_W7900"), _gib(48), "W7900"),
    _whole(amd.gpu("v710", "28Gi", product="AMD_Radeon_PRO_V710"), _gib(28), "V710"),
    _whole(amd.gpu("mi300x-b"), _gib(192), "MI300X"),
    _whole(amd.gpu("tiny", "4Gi", product="AMD_Radeon"), _gib(4), "Radeon"),
]

INTEL = [
    Specimen(intel.vfio("vfio"), "vfio"),
    Specimen(intel.gpu("sick", "128Gi", health="Unhealthy", model="Max 1550"), "sick"),
    Specimen(_untainted(intel.gpu("ill", "128Gi", health="Unhealthy", model="Max 1550")), "sick"),
    _whole(intel.gpu("arc", "4Gi", model="Arc A310"), _gib(4), "Arc A310"),
    _whole(intel.gpu("max-a", "128Gi", model="Max 1550"), _gib(128), "Max 1550"),
    _whole(intel.gpu("flex", "16Gi", model="Flex 170", health="Unknown"), _gib(16), "Flex 170"),
    _whole(intel.gpu("max-b", "128Gi", model="Max 1550"), _gib(128), "Max 1550"),
    _whole(intel.gpu("mid", "48Gi"), _gib(48), "Max 1100"),
]

LLMFIT = [
    Specimen(llmfit.cpu("cpu", "1Ti"), "system memory"),
    Specimen(llmfit.nic("nic"), "network card"),
    Specimen(llmfit.gpu("unreadable", None), "unreadable"),
    Specimen(llmfit.gpu("sick", "192Gi", healthy=False), "sick"),
    Specimen(llmfit.gpu("vendors", "192Gi", vendor_managed=True), "handed out by another driver"),
    _whole(llmfit.gpu("rtx-a"), _gib(24), "RTX 4090"),
    _whole(llmfit.gpu("mi300x", "192Gi", model="MI300X"), _gib(192), "MI300X"),
    _whole(llmfit.npu("npu", "16Gi"), _gib(16), "Ryzen AI"),
    _whole(llmfit.gpu("rtx-b"), _gib(24), "RTX 4090"),
    _whole(llmfit.gpu("old", "4Gi", model="GTX 1650"), _gib(4), "GTX 1650"),
]

HAMI = [
    _whole(hami.gpu("t4", "4Gi", product="Tesla T4"), _gib(4), "T4", shared=True),
    _whole(hami.gpu("h100-a", "81559Mi"), 81559, "H100", shared=True),
    _whole(hami.gpu("a10", "23028Mi", product="NVIDIA A10"), 23028, "A10", shared=True),
    _whole(hami.gpu("h100-b", "81559Mi"), 81559, "H100", shared=True),
]

EXAMPLE = [
    _whole(example.gpu("small", "4Gi"), _gib(4), "LATEST"),
    _whole(example.gpu("gpu-a"), _gib(80), "LATEST"),
    _whole(example.gpu("middle", "24Gi"), _gib(24), "LATEST"),
    _whole(example.gpu("gpu-b"), _gib(80), "LATEST"),
]

EXAMPLE_SHARED = [
    dataclasses.replace(each, device=example.gpu(each.device.name, memory, shareable=True), shared=True)
    for each, memory in zip(EXAMPLE, ("4Gi", "80Gi", "24Gi", "80Gi"), strict=True)
]

INVENTORIES: dict[str, list[tuple[str, list[Specimen]]]] = {
    "nvidia": [("exclusive", NVIDIA), ("shared", NVIDIA_SHARED)],
    "nvidia-mig": [("exclusive", NVIDIA), ("shared", NVIDIA_SHARED)],
    "amd": [("exclusive", AMD)],
    "intel": [("exclusive", INTEL)],
    "llmfit": [("exclusive", LLMFIT)],
    "hami": [("shared", HAMI)],
    "example": [("exclusive", EXAMPLE), ("shared", EXAMPLE_SHARED)],
}
"""By the profile that is to find its way in them. HAMi's cards are always shared; AMD's, Intel's and llmfit's never."""
