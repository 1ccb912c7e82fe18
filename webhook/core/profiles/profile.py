"""What a profile says."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Profile:
    """How to ask one driver for a device with enough memory."""

    name: str
    driver: str
    """The domain of the driver's capacities and attributes (DNS subdomain, at most 63 characters)."""
    device_classes: tuple[str, ...]
    """The DeviceClasses to try, in this order; those that the driver's chart installs."""
    capacity: str = "memory"
    """The capacity that holds GPU memory, spelled as the driver publishes it: the API matches it literally."""
    selectors: tuple[str, ...] = ()
    """Further CEL conditions, each of which must guard its own look-ups."""
    product: str | None = None
    """Qualified attribute that is equal on cards of one model; several devices of one claim must agree on it."""
    bandwidth: str | None = None
    """Integer attribute with the memory bandwidth in GB/s; asked for where the fit gives `minBandwidthGBs`."""
    partition_classes: tuple[str, ...] = ()
    """Those of `device_classes` whose devices are parts of a card that cannot work together: never used for several
    devices."""
    shares: Mapping[str, str] = field(default_factory=dict)
    """What a model takes of a shareable device's other capacities, by name. What a request does not name is consumed
    whole, or at the driver's default. A device that publishes none of a name is asked for memory alone."""

    def classes_for(self, count: int) -> tuple[str, ...]:
        """The DeviceClasses that can serve a model on so many devices."""
        return tuple(each for each in self.device_classes if count == 1 or each not in self.partition_classes)
