"""The alternatives of a device request in order of preference: the `firstAvailable` list of the claim.

They differ in, outermost first:
    1. the number of devices        fewest first
    2. the size limit, if tightest  devices of at most 1.125 times the requirement, then 1.25 times, …, at last any size
    3. the DeviceClass              in the profile's order
    4. the published capacities     devices that publish those in the profile's `shares`, then those that do not, then
                                    those without memory whose product is known

A request can list 8. The size limits get coarser until the product of all four fits; the last step has no limit, so
that every device that is large enough is found. `device_request` ensures that 1, 3 and 4 alone fit.
"""

import dataclasses
import enum
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction

from webhook.core.claims.device_request import MAX_ALTERNATIVES, DeviceRequest
from webhook.core.fits import quantities
from webhook.core.profiles import Profile

_SIZE_LIMITS = (
    (Fraction(9, 8), Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(8)),
    (Fraction(5, 4), Fraction(2), Fraction(4)),
    (Fraction(2),),
    (),
)
"""Series of upper bounds as multiples of the memory per device, finest first. "No limit" follows each series."""


class Published(enum.Enum):
    """The capacities that a device publishes."""

    ALL = enum.auto()
    """GPU memory and those in the profile's `shares`."""
    MEMORY = enum.auto()
    """GPU memory, and not all of `shares`."""
    NOTHING = enum.auto()
    """No GPU memory; the profile's `product_memory` knows it."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """`count` devices of a class, each with `min_mebibytes` to `max_mebibytes` (None: no limit) of memory."""

    device_class: str
    count: int
    min_mebibytes: int
    max_mebibytes: int | None
    published: Published
    products: tuple[str, ...] = ()
    """For Published.NOTHING: the products that have so much memory."""


def list_alternatives(request: DeviceRequest, classes: Collection[str] | None) -> list[Alternative]:
    """1 to 8 alternatives. `classes` are the names of the existing DeviceClasses (None: unknown). Others are left out,
    because one missing class keeps the pod unschedulable. If none exists, the first is listed, so that the scheduler's
    message names it."""
    existing = {count: _existing_classes(request.profile.classes_for(count), classes) for count in request.counts}
    room = MAX_ALTERNATIVES // (sum(map(len, existing.values())) * request.profile.variants)
    limits: tuple[Fraction, ...] = ()
    if request.placement == "tightest":
        limits = next(series for series in _SIZE_LIMITS if len(series) < room or not series)
    found: list[Alternative] = []
    for count in request.counts:
        minimum = request.mebibytes_per_device(count)
        # Limits of a few MiB coincide when they are rounded down.
        for maximum in (*dict.fromkeys(int(minimum * limit) for limit in limits), None):
            for name in existing[count]:
                found += _variants(request.profile, Alternative(name, count, minimum, maximum, Published.ALL))
    return found


def _variants(profile: Profile, alternative: Alternative) -> Iterator[Alternative]:
    """The alternative for devices that publish all capacities, and those for the others that the profile allows."""
    yield alternative
    if profile.shares:
        yield dataclasses.replace(alternative, published=Published.MEMORY)
    maximum = alternative.max_mebibytes
    products = tuple(
        name
        for name, mebibytes in profile.product_memory.items()
        if alternative.min_mebibytes <= mebibytes and (maximum is None or mebibytes <= maximum)
    )
    if products:
        yield dataclasses.replace(alternative, published=Published.NOTHING, products=products)


def alternative_names(request_name: str, alternatives: list[Alternative]) -> list[str]:
    """The name of each alternative: a DNS label that contains the properties in which the alternatives differ."""
    counts = {each.count for each in alternatives}
    limits = {each.max_mebibytes for each in alternatives}
    classes = list(dict.fromkeys(each.device_class for each in alternatives))
    names = []
    for each in alternatives:
        parts = [request_name]
        if len(counts) > 1:
            parts.append(f"{each.count}")
        if len(limits) > 1:
            limit = each.max_mebibytes
            parts.append("any" if limit is None else f"upto-{quantities.canonical(limit).lower()}")
        if len(classes) > 1:
            parts.append(f"class-{classes.index(each.device_class) + 1}")
        if each.published is Published.MEMORY:
            parts.append("memory-only")
        if each.published is Published.NOTHING:
            parts.append("by-product")
        names.append("-".join(parts))
    return names


def _existing_classes(names: tuple[str, ...], classes: Collection[str] | None) -> tuple[str, ...]:
    if classes is None:
        return names
    return tuple(name for name in names if name in classes) or names[:1]
