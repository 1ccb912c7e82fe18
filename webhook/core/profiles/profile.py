"""What a profile says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """How to ask one driver for a device with enough memory."""

    name: str
    driver: str
    """The domain of the driver's capacities and attributes (DNS subdomain, at most 63 characters)."""
    device_class: str
    """The DeviceClass that the driver's chart installs."""
    capacity: str = "memory"
    """The capacity that holds GPU memory, spelled as the driver publishes it: the API matches it literally."""
    selectors: tuple[str, ...] = ()
    """Further CEL conditions, each of which must guard its own look-ups."""
    product: str | None = None
    """Qualified attribute that is equal on cards of one model; several devices of one claim must agree on it."""
    bandwidth: str | None = None
    """Integer attribute with the memory bandwidth in GB/s; asked for where the fit gives `minBandwidthGBs`."""
