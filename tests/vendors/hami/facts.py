"""HAMi's facts: cards are always shared, by memory and by cores."""

from __future__ import annotations

from tests.vendors.facts import ProfileFacts, Vendor, gib, whole
from tests.vendors.hami import CLASSES, DRIVER, gpu

VENDOR = Vendor(
    driver=DRIVER,
    classes=CLASSES,
    devices=(gpu("hami-gpu"),),
    matched={DRIVER: {"hami-gpu"}},
    large=gpu("x-hami", "1Ti"),
    profiles={
        "hami": ProfileFacts(
            inventories={
                "shared": [
                    whole(gpu("t4", "4Gi", product="Tesla T4"), gib(4), "T4", shared=True),
                    whole(gpu("h100-a", "81559Mi"), 81559, "H100", shared=True),
                    whole(gpu("a10", "23028Mi", product="NVIDIA A10"), 23028, "A10", shared=True),
                    whole(gpu("h100-b", "81559Mi"), 81559, "H100", shared=True),
                ]
            },
            attributes={"productName": "NVIDIA H100"},
            other_capacity={"cores": 100},
            shareable=gpu("card", "80Gi"),
            consumed={"cores": "0"},
        )
    },
)
