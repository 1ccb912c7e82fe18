"""The example driver's facts: cards of one model, shared where its chart says so."""

from __future__ import annotations

from tests.vendors.example import CLASSES, DRIVER, gpu
from tests.vendors.facts import ProfileFacts, Specimen, Vendor, gib, whole

_SIZES = {"small": 4, "gpu-a": 80, "middle": 24, "gpu-b": 80}
"""GiB by device, in this order."""


def _inventory(*, shareable: bool) -> list[Specimen]:
    return [
        whole(gpu(name, f"{size}Gi", shareable=shareable), gib(size), "LATEST", shared=shareable)
        for name, size in _SIZES.items()
    ]


VENDOR = Vendor(
    driver=DRIVER,
    classes=CLASSES,
    devices=(gpu("ex-gpu"),),
    matched={"gpu.example.com": {"ex-gpu"}},
    large=gpu("x-example", "1Ti"),
    profiles={
        "example": ProfileFacts(
            inventories={"exclusive": _inventory(shareable=False), "shared": _inventory(shareable=True)},
            attributes={"model": "LATEST-GPU-MODEL"},
            other_capacity={"compute": 100},
            shareable=gpu("card", "80Gi", shareable=True),
            consumed={"compute": "1"},
        )
    },
)
