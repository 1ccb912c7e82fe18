"""The facts of a vendor's devices, taken from the documentation and source of its DRA driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from testbed.devices import Attribute, Device, DeviceClass

WHOLE, PARTITION = "whole", "partition"


@dataclass(frozen=True)
class Specimen:
    """A device of a test inventory and what is known of it.

    `kind` is WHOLE, PARTITION (of a card), or the reason why no model may have the device. `mebibytes` is its memory.
    `model` is equal on cards of one model. Several models may share a `shared` device.
    """

    device: Device
    kind: str
    mebibytes: int = 0
    model: str = ""
    shared: bool = False


@dataclass(frozen=True)
class ProfileFacts:
    """The facts of one built-in profile."""

    inventories: Mapping[str, Sequence[Specimen]]
    """The devices of one node, by name: some fit, some are too small, partitions, unhealthy or unreadable."""
    attributes: Mapping[str, Attribute]
    """The attributes that the profile reads, with values of a usable device."""
    kinds: tuple[str, ...] = (WHOLE,)
    """The kinds of device that the profile uses, in order of preference."""
    usable: Callable[[Mapping[str, Attribute]], bool] = lambda _: True
    """Whether a device with these attributes may serve a model, apart from its memory and bandwidth."""
    bandwidth: str | None = None
    """The integer attribute with the memory bandwidth in GB/s."""
    other_capacity: Mapping[str, int] = field(default_factory=dict)
    """The capacities beside memory that a claim names, and how much of each a device has. A device that lacks them is
    requested by its memory alone."""
    shareable: Device | None = None
    """A device of 80Gi that several models can share, named `card`."""
    consumed: Mapping[str, str] = field(default_factory=dict)
    """What a model consumes of `other_capacity` on that device."""


@dataclass(frozen=True)
class Vendor:
    """A DRA driver: its DeviceClasses, devices and profiles."""

    driver: str
    classes: tuple[DeviceClass, ...]
    devices: Sequence[Device]
    """One device of each kind that the driver publishes; names are unique over all vendors."""
    matched: Mapping[str, set[str]]
    """The names of the `devices` that each DeviceClass matches."""
    large: Device
    """A device that is large enough for any model. Profiles of other vendors must not use it."""
    profiles: Mapping[str, ProfileFacts] = field(default_factory=dict)
    """By profile name; empty for a vendor whose devices publish no memory."""


def whole(device: Device, mebibytes: int, model: str, *, shared: bool = False) -> Specimen:
    return Specimen(device, WHOLE, mebibytes, model, shared)


def gib(amount: int) -> int:
    """GiB in MiB."""
    return amount * 1024
