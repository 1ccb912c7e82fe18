"""The ways in which a demand can be met, most wanted first: what `firstAvailable` lists.

The order, from the outside in:
    1. the number of devices     fewest first
    2. the fit, if tightest      devices of at most 1.125 times the need, then 1.25 times, …, at last any large enough
    3. the DeviceClass           as the profile lists them
    4. the share                 devices that publish the profile's other capacities, then those that do not

A request lists at most 8. The ladder of 2 gets coarser until 1, 3 and 4 fit in; its last rung always stays, since
without it a device that would do is not found. `demand` sees to it that 1, 3 and 4 alone fit in.
"""

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from webhook.core.claims.device_request import MAX_ALTERNATIVES, DeviceRequest
from webhook.core.fits import quantities

_LADDERS = (
    (Fraction(9, 8), Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(8)),
    (Fraction(5, 4), Fraction(2), Fraction(4)),
    (Fraction(2),),
    (),
)
"""Upper bounds as multiples of what one device must hold, the finest ladder first. After its last comes "any"."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """`count` devices of a class, each with at least `least` and at most `most` MiB (None: no limit)."""

    device_class: str
    count: int
    least: int
    most: int | None
    shares: bool
    """Whether the device publishes what the profile's `shares` name."""


def alternatives(demand: DeviceRequest, classes: Collection[str] | None) -> list[Alternative]:
    """At least 1 and at most 8, in order. `classes` are the DeviceClasses that exist (None: not known). No other is
    listed, since one absent class keeps the pod from any device; where none exists the first is, so that the
    scheduler's message names it."""
    existing = {count: _existing(demand.profile.classes_for(count), classes) for count in demand.counts}
    shares = (True, False) if demand.profile.shares else (True,)
    room = MAX_ALTERNATIVES // (sum(map(len, existing.values())) * len(shares))
    ladder = next(each for each in _LADDERS if len(each) < room or not each) if demand.placement == "tightest" else ()
    found = []
    for count in demand.counts:
        least = demand.mebibytes_per_device(count)
        for most in (*(int(least * bound) for bound in ladder), None):
            found += [Alternative(each, count, least, most, share) for each in existing[count] for share in shares]
    return found


def names(request: str, found: list[Alternative]) -> list[str]:
    """A name for each alternative of a request: a DNS label that says in what it differs from the others."""
    counts = {each.count for each in found}
    bounds = {each.most for each in found}
    classes = list(dict.fromkeys(each.device_class for each in found))
    made = []
    for each in found:
        parts = [request]
        if len(counts) > 1:
            parts.append(f"{each.count}")
        if len(bounds) > 1:
            parts.append("any" if each.most is None else f"upto-{quantities.canonical(each.most).lower()}")
        if len(classes) > 1:
            parts.append(f"class-{classes.index(each.device_class) + 1}")
        if not each.shares:
            parts.append("memory-only")
        made.append("-".join(parts))
    return made


def _existing(wanted: tuple[str, ...], classes: Collection[str] | None) -> tuple[str, ...]:
    if classes is None:
        return wanted
    return tuple(each for each in wanted if each in classes) or wanted[:1]
