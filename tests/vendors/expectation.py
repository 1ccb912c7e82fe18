"""What the scheduler must allocate, computed from the vendors' facts and from the documented rules of placement.

Independent of the product: no CEL, no claims. The scheduler's documented rule is: the first devices in the order of the
slice that satisfy everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tests.vendors.facts import WHOLE, ProfileFacts, Specimen
from tests.vendors.scheduling_trials import PENDING, Outcome

BOUNDS = {
    8: ("9/8", "5/4", "3/2", "2", "3", "4", "8"),
    4: ("5/4", "2", "4"),
    2: ("2",),
    1: (),
}
"""`tightest`: the upper bounds of a device's memory, as multiples of the requirement, by the number of alternatives
that a claim has room for."""


class Expectation:
    """The devices of one node, allocated to one claim after the other."""

    def __init__(self, specimens: Sequence[Specimen], facts: ProfileFacts) -> None:
        self._kinds = facts.kinds
        # Devices are requested with and without their other capacities.
        self._variants = 2 if facts.other_capacity else 1
        self._specimens = [each for each in specimens if each.kind in self._kinds]
        self._left = {each.device.name: each.mebibytes for each in self._specimens}

    def claim(self, mebibytes: int, counts: Sequence[int], *, tightest: bool) -> Outcome:
        """What the next claim gets for one of `counts` devices that hold `mebibytes` together."""
        for count in counts:
            share = -(-mebibytes // count)
            for group in self._groups(share, count, self._bounds(counts) if tightest else ()):
                found = self._first(group, share, count)
                if found:
                    self._take(found, share)
                    return tuple(each.device.name for each in found)
        return PENDING

    def _bounds(self, counts: Sequence[int]) -> tuple[str, ...]:
        alternatives = sum(len(self._kinds_for(count)) for count in counts) * self._variants
        return BOUNDS[max(room for room in BOUNDS if room <= 8 // alternatives)]

    def _kinds_for(self, count: int) -> tuple[str, ...]:
        # Partitions of a card cannot work on one model together.
        return self._kinds if count == 1 else (WHOLE,)

    def _groups(self, share: int, count: int, bounds: tuple[str, ...]) -> Iterator[list[Specimen]]:
        """The devices to choose from, most preferred first."""
        for bound in (*bounds, None):
            maximum = None if bound is None else int(share * Fraction(bound))
            for kind in self._kinds_for(count):
                yield [
                    each
                    for each in self._specimens
                    if each.kind == kind and share <= each.mebibytes and (maximum is None or each.mebibytes <= maximum)
                ]

    def _first(self, group: Sequence[Specimen], share: int, count: int) -> list[Specimen]:
        """The first `count` devices of one model that have `share` left."""
        free = [each for each in group if self._left[each.device.name] >= share]
        for start, first in enumerate(free):
            alike = [each for each in free[start:] if each.model == first.model]
            if len(alike) >= count:
                return alike[:count]
        return []

    def _take(self, found: Sequence[Specimen], share: int) -> None:
        for each in found:
            name = each.device.name
            self._left[name] = self._left[name] - share if each.shared else 0
