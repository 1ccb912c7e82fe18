"""The type of a device profile."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Profile:
    """How to request a device with enough memory from one driver."""

    name: str
    driver: str
    """The domain of the driver's capacities and attributes: a DNS subdomain of at most 63 characters."""
    device_classes: tuple[str, ...]
    """The DeviceClasses to try, in this order, as the driver's chart installs them."""
    capacity: str = "memory"
    """The capacity that holds GPU memory, spelled as the driver publishes it: the API compares it literally."""
    selectors: tuple[str, ...] = ()
    """Further CEL conditions. Each must guard its own lookups."""
    product: str | None = None
    """Qualified attribute that is equal on cards of one model; several devices of one claim must agree on it."""
    bandwidth: str | None = None
    """Integer attribute with the memory bandwidth in GB/s; selected on if the fit has `minBandwidthGBs`."""
    partition_classes: tuple[str, ...] = ()
    """Those of `device_classes` whose devices are partitions of a card that cannot work together. A model on several
    devices does not use them."""
    shares: Mapping[str, str] = field(default_factory=dict)
    """How much to request of a shareable device's other capacities, by name. A capacity that a request does not name
    is consumed whole, or at the driver's default. A device that lacks one of them is requested by memory alone."""

    product_memory: Mapping[str, int] = field(default_factory=dict)
    """GPU memory in MiB by the value of `product`, for devices that do not publish `capacity`. Needs `product`."""
    tolerations: tuple[Mapping[str, str], ...] = ()
    """Device taints that a request tolerates, as in the API."""

    @property
    def variants(self) -> int:
        """How many alternatives a request lists for each DeviceClass: devices differ in what they publish."""
        return 1 + bool(self.shares) + bool(self.product_memory)

    def classes_for(self, count: int) -> tuple[str, ...]:
        """The DeviceClasses that can serve a model on `count` devices."""
        return tuple(each for each in self.device_classes if count == 1 or each not in self.partition_classes)
