"""llmfit-dra's facts: GPUs, NPUs, the CPU and network cards in one class; devices are never shared."""

from __future__ import annotations

from tests.vendors.facts import ProfileFacts, Specimen, Vendor, gib, whole
from tests.vendors.llmfit import CLASSES, DRIVER, cpu, gpu, nic, npu

VENDOR = Vendor(
    driver=DRIVER,
    classes=CLASSES,
    devices=(
        gpu("fit-gpu", bandwidth=1008),
        gpu("fit-unknown", None),
        gpu("fit-unhealthy", healthy=False),
        gpu("fit-vendor", vendor_managed=True),
        npu("fit-npu"),
        cpu("fit-cpu"),
        cpu("fit-cpu-unhealthy", healthy=False),
        nic("fit-nic"),
    ),
    matched={
        "llmfit.ai": {"fit-gpu", "fit-unknown", "fit-npu", "fit-cpu", "fit-nic"},
        "gpu.llmfit.ai": {"fit-gpu", "fit-unknown"},
        "npu.llmfit.ai": {"fit-npu"},
        "cpu.llmfit.ai": {"fit-cpu", "fit-cpu-unhealthy"},
        "nic.llmfit.ai": {"fit-nic"},
    },
    large=gpu("x-llmfit", "1Ti"),
    profiles={
        "llmfit": ProfileFacts(
            inventories={
                "exclusive": [
                    Specimen(cpu("cpu", "1Ti"), "system memory"),
                    Specimen(nic("nic"), "network card"),
                    Specimen(gpu("unreadable", None), "unreadable"),
                    Specimen(gpu("unhealthy", "192Gi", healthy=False), "unhealthy"),
                    Specimen(gpu("vendors", "192Gi", vendor_managed=True), "allocated by another driver"),
                    whole(gpu("rtx-a"), gib(24), "RTX 4090"),
                    whole(gpu("mi300x", "192Gi", model="MI300X"), gib(192), "MI300X"),
                    whole(npu("npu", "16Gi"), gib(16), "Ryzen AI"),
                    whole(gpu("rtx-b"), gib(24), "RTX 4090"),
                    whole(gpu("old", "4Gi", model="GTX 1650"), gib(4), "GTX 1650"),
                ]
            },
            attributes={"kind": "gpu", "healthy": True, "memoryBandwidthGBs": 5300, "model": "MI300X"},
            usable=lambda attributes: attributes.get("healthy") is True and attributes.get("kind") not in (None, "cpu"),
            bandwidth="memoryBandwidthGBs",
        )
    },
)
