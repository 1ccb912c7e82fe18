"""NVIDIA's facts: whole cards of 80, 24 and 6 GB as NVML counts them, MIG slices, vfio devices."""

from __future__ import annotations

from tests.vendors.facts import PARTITION, WHOLE, ProfileFacts, Specimen, Vendor, gib, whole
from tests.vendors.nvidia import CLASSES, DRIVER, gpu, mig, shared_gpu, vfio

INVENTORIES = {
    "exclusive": [
        Specimen(vfio("vfio", "192Gi"), "vfio"),
        Specimen(gpu("unreadable", None), "unreadable"),
        Specimen(mig("mig-5", "4864Mi"), PARTITION, 4864, "A100"),
        whole(gpu("h100-a"), 81559, "H100"),
        Specimen(mig("mig-20-a", "19968Mi", profile="3g.20gb"), PARTITION, 19968, "A100"),
        Specimen(mig("mig-20-b", "19968Mi", profile="3g.20gb"), PARTITION, 19968, "A100"),
        whole(gpu("a10", "23028Mi", product="NVIDIA A10"), 23028, "A10"),
        whole(gpu("h100-b"), 81559, "H100"),
        whole(gpu("l4", "6Gi", product="NVIDIA L4"), gib(6), "L4"),
    ],
    "shared": [
        Specimen(vfio("vfio", "192Gi"), "vfio"),
        Specimen(gpu("unreadable", None), "unreadable"),
        Specimen(mig("mig-20-a", "19968Mi", profile="3g.20gb"), PARTITION, 19968, "A100"),
        whole(shared_gpu("h100-a", "81559Mi"), 81559, "H100", shared=True),
        whole(shared_gpu("h100-b", "81559Mi"), 81559, "H100", shared=True),
        whole(shared_gpu("l4", "6Gi", product="NVIDIA L4"), gib(6), "L4", shared=True),
    ],
}

VENDOR = Vendor(
    driver=DRIVER,
    classes=CLASSES,
    devices=(gpu("nv-gpu"), gpu("nv-unknown", None), mig("nv-mig"), vfio("nv-vfio")),
    matched={
        "gpu.nvidia.com": {"nv-gpu", "nv-unknown"},
        "mig.nvidia.com": {"nv-mig"},
        "vfio.gpu.nvidia.com": {"nv-vfio"},
    },
    large=gpu("x-nvidia", "1Ti"),
    profiles={
        "nvidia": ProfileFacts(
            INVENTORIES, attributes={"productName": "NVIDIA H100"}, shareable=shared_gpu("card", "80Gi")
        ),
        "nvidia-mig": ProfileFacts(INVENTORIES, attributes={"productName": "NVIDIA H100"}, kinds=(PARTITION, WHOLE)),
    },
)
