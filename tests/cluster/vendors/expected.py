"""What ought to happen, worked out from the drivers' facts and from what the documentation promises of placement.

Written apart from the product: no CEL, no claims. The scheduler's own rule is the one that its documentation gives: the
first devices in the order of the slice that satisfy everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tests.cluster.vendors.specimens import PART, WHOLE, Specimen
from tests.cluster.vendors.trials import PENDING, Outcome

KINDS = {"nvidia-mig": (PART, WHOLE)}
"""What a profile looks for, in this order; the others look for whole cards alone."""

WAYS = {"hami": 2, "example": 2}
"""Devices are asked for in two ways, with and without their other capacity."""

LADDERS = {
    8: ("9/8", "5/4", "3/2", "2", "3", "4", "8"),
    4: ("5/4", "2", "4"),
    2: ("2",),
    1: (),
}
"""`tightest`: how far above the need a device may be, by the room that 8 alternatives leave for each way."""


class Expectation:
    """The devices of one node as claims take them, one claim after the other."""

    def __init__(self, specimens: Sequence[Specimen], profile: str) -> None:
        self._profile = profile
        self._kinds = KINDS.get(profile, (WHOLE,))
        self._specimens = [each for each in specimens if each.kind in self._kinds]
        self._left = {each.device.name: each.mebibytes for each in self._specimens}

    def claim(self, mebibytes: int, counts: Sequence[int], *, tightest: bool) -> Outcome:
        """What the next claim gets, for one of `counts` devices that hold `mebibytes` together."""
        for count in counts:
            share = -(-mebibytes // count)
            for group in self._groups(share, count, self._bounds(counts) if tightest else ()):
                found = self._first(group, share, count)
                if found:
                    self._take(found, share)
                    return tuple(each.device.name for each in found)
        return PENDING

    def _bounds(self, counts: Sequence[int]) -> tuple[str, ...]:
        ways = sum(len(self._kinds_for(count)) for count in counts) * WAYS.get(self._profile, 1)
        return LADDERS[max(room for room in LADDERS if room <= 8 // ways)]

    def _kinds_for(self, count: int) -> tuple[str, ...]:
        # Slices of a card cannot work on one model together.
        return self._kinds if count == 1 else (WHOLE,)

    def _groups(self, share: int, count: int, bounds: tuple[str, ...]) -> Iterator[list[Specimen]]:
        """The devices to choose from, the most wanted first."""
        for bound in (*bounds, None):
            most = None if bound is None else int(share * Fraction(bound))
            for kind in self._kinds_for(count):
                yield [
                    each
                    for each in self._specimens
                    if each.kind == kind and share <= each.mebibytes and (most is None or each.mebibytes <= most)
                ]

    def _first(self, group: Sequence[Specimen], share: int, count: int) -> list[Specimen]:
        """The first so many of one model that have the share left."""
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
