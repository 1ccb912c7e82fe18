"""AMD's facts: one DeviceClass for whole GPUs, partitions and vfio devices; cards are never shared."""

from __future__ import annotations

from tests.vendors.amd import CLASSES, DRIVER, gpu, partition, vfio
from tests.vendors.facts import PARTITION, ProfileFacts, Specimen, Vendor, gib, whole

VENDOR = Vendor(
    driver=DRIVER,
    classes=CLASSES,
    devices=(gpu("amd-gpu"), partition("amd-part"), vfio("amd-vfio")),
    matched={"gpu.amd.com": {"amd-gpu", "amd-part", "amd-vfio"}},
    large=gpu("x-amd", "1Ti"),
    profiles={
        "amd": ProfileFacts(
            inventories={
                "exclusive": [
                    Specimen(vfio("vfio", "192Gi"), "vfio"),
                    Specimen(vfio("vfio-bound"), "vfio"),
                    Specimen(gpu("unreadable", "0"), "unreadable"),
                    Specimen(partition("cpx-a"), PARTITION, gib(24), "MI300X"),
                    whole(gpu("mi300x-a"), gib(192), "MI300X"),
                    Specimen(partition("cpx-b"), PARTITION, gib(24), "MI300X"),
                    whole(gpu("w7900", "48Gi", product="AMD_Radeon_PRO_W7900"), gib(48), "W7900"),
                    whole(gpu("v710", "28Gi", product="AMD_Radeon_PRO_V710"), gib(28), "V710"),
                    whole(gpu("mi300x-b"), gib(192), "MI300X"),
                    whole(gpu("tiny", "4Gi", product="AMD_Radeon"), gib(4), "Radeon"),
                ]
            },
            attributes={"type": "amdgpu", "productName": "AMD_Instinct_MI300X_OAM"},
            usable=lambda attributes: attributes.get("type") == "amdgpu",
        )
    },
)
