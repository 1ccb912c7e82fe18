"""All vendors: every folder of this package that has a module `facts` with a `VENDOR`."""

from __future__ import annotations

import importlib
from pathlib import Path

from testbed.devices import DeviceClass
from tests.vendors.facts import ProfileFacts, Specimen, Vendor

VENDORS: dict[str, Vendor] = {
    found.parent.name: importlib.import_module(f"tests.vendors.{found.parent.name}.facts").VENDOR
    for found in sorted(Path(__file__).parent.glob("*/facts.py"))
}
"""By the name of their folder."""

PROFILES: dict[str, ProfileFacts] = {name: facts for each in VENDORS.values() for name, facts in each.profiles.items()}

DRIVERS: dict[str, str] = {name: vendor.driver for vendor in VENDORS.values() for name in vendor.profiles}
"""The driver of each profile."""

CLASSES: tuple[DeviceClass, ...] = tuple(each for vendor in VENDORS.values() for each in vendor.classes)


def other_vendors_devices(driver: str, turn: int) -> list[Specimen]:
    """Two large devices of other drivers; consecutive turns cover all of them."""
    others = [Specimen(each.large, "another driver's") for each in VENDORS.values() if each.driver != driver]
    return [others[turn % len(others)], others[(turn + 1) % len(others)]]
