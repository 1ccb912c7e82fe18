"""Intel's GPU facts: DeviceClasses match by driver alone; an unhealthy card is tainted only where taints are on."""

from __future__ import annotations

import dataclasses

from tests.vendors.facts import ProfileFacts, Specimen, Vendor, gib, whole
from tests.vendors.intel import CLASSES, DRIVER, gpu, vfio

_UNHEALTHY = gpu("sick", "128Gi", health="Unhealthy", model="Max 1550")

VENDOR = Vendor(
    driver=DRIVER,
    classes=CLASSES,
    devices=(gpu("intel-gpu"), gpu("intel-unhealthy", health="Unhealthy"), vfio("intel-vfio")),
    matched={
        "gpu.intel.com": {"intel-gpu", "intel-unhealthy", "intel-vfio"},
        "gpu-vfio.intel.com": {"intel-gpu", "intel-unhealthy", "intel-vfio"},
    },
    large=gpu("x-intel", "1Ti"),
    profiles={
        "intel": ProfileFacts(
            inventories={
                "exclusive": [
                    Specimen(vfio("vfio"), "vfio"),
                    Specimen(_UNHEALTHY, "unhealthy"),
                    Specimen(dataclasses.replace(_UNHEALTHY, name="untainted", taints=()), "unhealthy"),
                    whole(gpu("arc", "4Gi", model="Arc A310"), gib(4), "Arc A310"),
                    whole(gpu("max-a", "128Gi", model="Max 1550"), gib(128), "Max 1550"),
                    whole(gpu("flex", "16Gi", model="Flex 170", health="Unknown"), gib(16), "Flex 170"),
                    whole(gpu("max-b", "128Gi", model="Max 1550"), gib(128), "Max 1550"),
                    whole(gpu("mid", "48Gi"), gib(48), "Max 1100"),
                ]
            },
            attributes={"health": "Healthy", "model": "Max 1550"},
            usable=lambda attributes: attributes.get("health") != "Unhealthy",
        )
    },
)
