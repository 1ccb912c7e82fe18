"""Devices that no driver's documentation promises: attributes of the wrong type or missing, memory under other names,
in fractions, of 0 or of more than there is, and other drivers' words on a device.

`fits` says which of them hold a model all the same, by the vendors' facts alone.
"""

from __future__ import annotations

from decimal import Decimal
from random import Random

from testbed.devices import Attribute, Capacity, Device, Share, Version
from tests.cluster.drivers import amd, example, gaudi, hami, intel, llmfit, nvidia

DRIVERS = {
    "nvidia": nvidia.DRIVER,
    "nvidia-mig": nvidia.DRIVER,
    "amd": amd.DRIVER,
    "intel": intel.DRIVER,
    "llmfit": llmfit.DRIVER,
    "hami": hami.DRIVER,
    "example": example.DRIVER,
}
"""By profile."""

_ALL = sorted({*DRIVERS.values(), gaudi.DRIVER, "other.test"})

_ATTRIBUTES = {
    "type": ("gpu", "mig", "vfio", "amdgpu", "amdgpu-partition", "hami-gpu"),
    "kind": ("gpu", "npu", "cpu", "nic"),
    "health": ("Healthy", "Unhealthy", "Unknown"),
    "productName": ("H100", "A10"),
    "model": ("H100", "A10", ""),
    "vendor": ("nvidia",),
}
_SIZES = {
    "0": 0, "1": 0, "64Mi": 64, "5Gi": 5120, "8Gi": 8192, "8191Mi": 8191, "16Gi": 16384, "80Gi": 81920,
    "81559Mi": 81559, "85520809984": 81559, "8589934592001m": 8192, "8589934591999m": 8191, "192Gi": 196608,
    "1Pi": 1 << 30,
}  # fmt: skip
"""Quantities as they are published, and the whole MiB in them."""


def device(random: Random, name: str, profile: str) -> Device:
    """One device, of the profile's own driver more often than of another."""
    driver = DRIVERS[profile] if random.random() < 0.7 else random.choice(_ALL)
    attributes: dict[str, Attribute] = {}
    for attribute, values in _ATTRIBUTES.items():
        if random.random() < 0.7:
            where = random.choice((attribute, attribute, attribute, f"other.test/{attribute}"))
            odd: tuple[Attribute, ...] = (7, True, Version("1.0.0"))
            attributes[where] = random.choice((*values, *values, *odd))
    if random.random() < 0.9:
        attributes["healthy"] = random.choice((True, True, True, True, False, "true", 1))
    if random.random() < 0.9:
        attributes["memoryBandwidthGBs"] = random.choice((0, 200, 1008, 5300, -1, "1008", True, Version("1008.0.0")))
    shareable = random.random() < 0.3
    return Device(driver, name, attributes, _capacity(random, shareable), shareable=shareable)


def _capacity(random: Random, shareable: bool) -> dict[str, Capacity]:
    capacity: dict[str, Capacity] = {}
    if random.random() < 0.8:
        capacity[random.choice(("memory", "memory", "memory", "Memory", "addressableMemory", "other.test/memory"))] = (
            random.choice(tuple(_SIZES))
        )
    for other in ("compute", "cores", "shares"):
        if random.random() < 0.4:
            capacity[other] = Share("100", minimum="0", step="1") if shareable else random.choice(("100", "0", "1500m"))
    return capacity


def inventory(random: Random, profile: str) -> list[Device]:
    """Up to a dozen of them."""
    return [device(random, f"device-{index}", profile) for index in range(random.randint(1, 12))]


def fits(candidate: Device, profile: str, mebibytes: int, bandwidth: int | None) -> bool:
    """Whether a model that needs so much memory, and GB/s if not None, may have this device alone."""
    memory, attributes = candidate.capacity.get("memory"), candidate.attributes
    if candidate.driver != DRIVERS[profile] or not isinstance(memory, str) or _SIZES[memory] < mebibytes:
        return False
    if profile == "amd":
        return attributes.get("type") == "amdgpu"
    if profile == "intel":
        return attributes.get("health") != "Unhealthy"
    if profile == "llmfit":
        speed = attributes.get("memoryBandwidthGBs")
        fast = bandwidth is None or (type(speed) is int and speed >= bandwidth)
        return attributes.get("healthy") is True and attributes.get("kind") not in (None, "cpu") and fast
    return True


def mebibytes(gigabytes: str) -> int:
    """Whole MiB, rounded up."""
    return -int(-Decimal(gigabytes) * 1024 // 1)
