"""Reads single figures out of a fit, and collects what is wrong with them instead of stopping at the first."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal

from webhook.core.fits import quantities
from webhook.core.fits.strict_json import Impossible, describe, member
from webhook.errors import FieldError, quote

_MOST_WHOLE = 10**12


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount in GiB and the key it was read from."""

    where: str
    value: Decimal


@dataclass(frozen=True, slots=True)
class Fields:
    """An object of a fit at the path `where`. Readers return None for an absent, null or faulty member; a faulty one
    is added to `faults`, which all objects of one fit share."""

    where: str
    members: Mapping[str, object]
    faults: list[FieldError] = field(default_factory=list)

    def inner(self, key: str) -> "Fields | None":
        """The object at `key`, where there is one."""
        value = self.members.get(key)
        return Fields(member(self.where, key), value, self.faults) if isinstance(value, dict) else None

    def gigabytes(self, key: str) -> Amount | None:
        """A number of gigabytes at `key`."""
        value = self.members.get(key)
        if value is None or isinstance(value, Impossible):  # an Impossible is among the faults already
            return None
        where = member(self.where, key)
        if not isinstance(value, Decimal):
            self._fault(where, describe(value), "remove the quotes and the unit" if isinstance(value, str) else "")
        elif value < 0:
            self._fault(where, f"{quote(str(value))}, below zero")
        else:
            return Amount(where, value)
        return None

    def first(self, *keys: str) -> Amount | None:
        """The first present of several; the others are read too, so that their faults show."""
        found = [figure for key in keys if (figure := self.gigabytes(key)) is not None]
        return found[0] if found else None

    def ceiling(self, key: str) -> int | None:
        """A number at `key`, rounded up to a whole one; None where it is absent or 0."""
        figure = self.gigabytes(key)
        if figure is None or figure.value == 0:
            return None
        if figure.value > _MOST_WHOLE:
            self._fault(
                figure.where, f"{quote(str(figure.value))}, which is more than any device has", "check the unit"
            )
            return None
        return int(figure.value.to_integral_value(ROUND_CEILING))

    def whole(self, key: str) -> int | None:
        """A whole number above zero at `key`; anything else counts as absent (used for hints only)."""
        return _whole(self.members.get(key))

    def wholes(self, key: str) -> tuple[int, ...]:
        """The whole numbers above zero in the list at `key`, in order, once each (used for hints only)."""
        value = self.members.get(key)
        numbers = [_whole(item) for item in value] if isinstance(value, list) else []
        return tuple(sorted({number for number in numbers if number}))

    def text(self, key: str) -> str | None:
        """Text that is not blank at `key`."""
        value = self.members.get(key)
        return value if isinstance(value, str) and value.strip() else None

    def must_be(self, key: str, kinds: type | tuple[type, ...], want: str) -> None:
        """Adds what is present at `key` and of none of the kinds to the faults."""
        value = self.members.get(key)
        if value is not None and not isinstance(value, (kinds, Impossible)):
            self.faults.append(FieldError(member(self.where, key), describe(value), want))

    def sized(self, figure: Amount | None) -> Amount | None:
        """The same figure; one that no model can need is added to the faults."""
        if figure is None or figure.value == 0:
            return figure
        if figure.value < quantities.LEAST_GB:
            saw = f"{quote(str(figure.value))} GB, which is less than 64 MiB"
            self.faults.append(FieldError(figure.where, saw, "0 or at least 0.0625 gigabytes", "check the unit"))
        elif figure.value > quantities.MOST_GB:
            saw = f"{quote(str(figure.value))} GB, which is more than 1 PiB"
            self.faults.append(FieldError(figure.where, saw, "at most 1048576 gigabytes", "check the unit"))
        return figure

    def _fault(self, where: str, saw: str, remedy: str = "") -> None:
        self.faults.append(FieldError(where, saw, "a number of gigabytes such as 8 or 12.5", remedy))


def _whole(value: object) -> int | None:
    if isinstance(value, Decimal) and 0 < value <= _MOST_WHOLE and value == value.to_integral_value():
        return int(value)
    return None
