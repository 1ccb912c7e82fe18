"""Devices that no driver's documentation promises.

Attributes are missing, of the wrong type or another driver's; memory is under other names, in fractions, 0 or huge.

`fits` says which of them can serve a model all the same, by the vendors' facts alone.
"""

from __future__ import annotations

from decimal import Decimal
from random import Random

from testbed.devices import Attribute, Capacity, Device, SharedCapacity, Version
from tests.vendors.catalog import DRIVERS, PROFILES, VENDORS

_DRIVERS = sorted({vendor.driver for vendor in VENDORS.values()} | {"other.test"})

_READ = {name: value for facts in PROFILES.values() for name, value in facts.attributes.items()}
"""Every attribute that a profile reads, with a usable value."""

_PUBLISHED = [device for vendor in VENDORS.values() for device in vendor.devices]

_TEXTS = {
    name: sorted({str(device.attributes[name]) for device in _PUBLISHED if name in device.attributes} | {""})
    for name, value in _READ.items()
    if isinstance(value, str)
}
"""The values of text attributes that any driver publishes."""

_OTHER_CAPACITIES = sorted({name for facts in PROFILES.values() for name in facts.other_capacity} | {"shares"})

_SIZES = {
    "0": 0, "1": 0, "64Mi": 64, "5Gi": 5120, "8Gi": 8192, "8191Mi": 8191, "16Gi": 16384, "80Gi": 81920,
    "81559Mi": 81559, "85520809984": 81559, "8589934592001m": 8192, "8589934591999m": 8191, "192Gi": 196608,
    "1Pi": 1 << 30,
}  # fmt: skip
"""Published quantities and the whole MiB in them."""


def device(random: Random, name: str, profile: str) -> Device:
    """One device, more often of the profile's driver than of another."""
    driver = DRIVERS[profile] if random.random() < 0.7 else random.choice(_DRIVERS)
    attributes: dict[str, Attribute] = {}
    for attribute, values in _TEXTS.items():
        if random.random() < 0.7:
            key = random.choice((attribute, attribute, attribute, f"other.test/{attribute}"))
            wrong: tuple[Attribute, ...] = (7, True, Version("1.0.0"))
            attributes[key] = random.choice((*values, *values, *wrong))
    for attribute, value in _READ.items():
        if isinstance(value, bool) and random.random() < 0.9:
            attributes[attribute] = random.choice((True, True, True, True, False, "true", 1))
        elif isinstance(value, int) and random.random() < 0.9:
            attributes[attribute] = random.choice((0, 200, 1008, 5300, -1, "1008", True, Version("1008.0.0")))
    shareable = random.random() < 0.3
    return Device(driver, name, attributes, _capacity(random, shareable), shareable=shareable)


def _capacity(random: Random, shareable: bool) -> dict[str, Capacity]:
    capacity: dict[str, Capacity] = {}
    if random.random() < 0.8:
        key = random.choice(("memory", "memory", "memory", "Memory", "addressableMemory", "other.test/memory"))
        capacity[key] = random.choice(tuple(_SIZES))
    for other in _OTHER_CAPACITIES:
        if random.random() < 0.4:
            share = SharedCapacity("100", minimum="0", step="1")
            capacity[other] = share if shareable else random.choice(("100", "0", "1500m"))
    return capacity


def inventory(random: Random, profile: str) -> list[Device]:
    """1 to 12 devices."""
    return [device(random, f"device-{index}", profile) for index in range(random.randint(1, 12))]


def fits(candidate: Device, profile: str, mebibytes: int, bandwidth: int | None) -> bool:
    """Whether a model that needs so much memory, and so many GB/s if not None, may have this device alone."""
    facts, memory = PROFILES[profile], candidate.capacity.get("memory")
    if candidate.driver != DRIVERS[profile] or not isinstance(memory, str) or _SIZES[memory] < mebibytes:
        return False
    if facts.bandwidth is not None and bandwidth is not None:
        speed = candidate.attributes.get(facts.bandwidth)
        # Not isinstance: a bool is an int.
        if type(speed) is not int or speed < bandwidth:
            return False
    return facts.usable(candidate.attributes)


def mebibytes(gigabytes: str) -> int:
    """Whole MiB, rounded up."""
    return -int(-Decimal(gigabytes) * 1024 // 1)
