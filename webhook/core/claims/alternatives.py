"""The alternatives of a device request in order of preference: the `firstAvailable` list of the claim.

They differ in, outermost first:
    1. the number of devices        fewest first
    2. the size limit, if tightest  devices of at most 1.125 times the requirement, then 1.25 times, …, at last any size
    3. the DeviceClass              in the profile's order
    4. the other capacities         devices that publish those in the profile's `shares`, then those that do not

A request can list 8. The size limits get coarser until the product of all four fits; the last step has no limit, so
that every device that is large enough is found. `device_request` ensures that 1, 3 and 4 alone fit.
"""

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from webhook.core.claims.device_request import MAX_ALTERNATIVES, DeviceRequest
from webhook.core.fits import quantities

_SIZE_LIMITS = (
    (Fraction(9, 8), Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(8)),
    (Fraction(5, 4), Fraction(2), Fraction(4)),
    (Fraction(2),),
    (),
)
"""Series of upper bounds as multiples of the memory per device, finest first. "No limit" follows each series."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """`count` devices of a class, each with `min_mebibytes` to `max_mebibytes` (None: no limit) of memory."""

    device_class: str
    count: int
    min_mebibytes: int
    max_mebibytes: int | None
    with_shares: bool
    """Whether the device publishes the capacities in the profile's `shares`."""


def list_alternatives(request: DeviceRequest, classes: Collection[str] | None) -> list[Alternative]:
    """1 to 8 alternatives. `classes` are the names of the existing DeviceClasses (None: unknown). Others are left out,
    because one missing class keeps the pod unschedulable. If none exists, the first is listed, so that the scheduler's
    message names it."""
    existing = {count: _existing_classes(request.profile.classes_for(count), classes) for count in request.counts}
    shares = (True, False) if request.profile.shares else (True,)
    room = MAX_ALTERNATIVES // (sum(map(len, existing.values())) * len(shares))
    limits: tuple[Fraction, ...] = ()
    if request.placement == "tightest":
        limits = next(series for series in _SIZE_LIMITS if len(series) < room or not series)
    found = []
    for count in request.counts:
        minimum = request.mebibytes_per_device(count)
        for maximum in (*(int(minimum * limit) for limit in limits), None):
            found += [Alternative(name, count, minimum, maximum, share) for name in existing[count] for share in shares]
    return found


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
        if not each.with_shares:
            parts.append("memory-only")
        names.append("-".join(parts))
    return names


def _existing_classes(names: tuple[str, ...], classes: Collection[str] | None) -> tuple[str, ...]:
    if classes is None:
        return names
    return tuple(name for name in names if name in classes) or names[:1]
