"""Reads the fields of a fit and collects every error instead of stopping at the first."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal

from webhook.core.fits import quantities
from webhook.core.fits.strict_json import InvalidNumber, describe, member_path
from webhook.errors import FieldError, quote

_MAX_INTEGER = 10**12


@dataclass(frozen=True, slots=True)
class MemoryField:
    """A number of gigabytes and the path of the field that it comes from."""

    path: str
    value: Decimal

    @property
    def key(self) -> str:
        """The last part of the path: the field's name."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Fields:
    """The JSON object of a fit at `path`. Methods return None for an absent, null or invalid member. They add the
    invalid ones to `errors`, which all objects of one fit share."""

    path: str
    members: Mapping[str, object]
    errors: list[FieldError] = field(default_factory=list)

    def get_object(self, key: str) -> "Fields | None":
        value = self.members.get(key)
        return Fields(member_path(self.path, key), value, self.errors) if isinstance(value, dict) else None

    def text(self, key: str) -> str | None:
        """Text that is not blank."""
        value = self.members.get(key)
        return value if isinstance(value, str) and value.strip() else None

    def gigabytes(self, key: str) -> MemoryField | None:
        """A number of gigabytes, 0 or more."""
        value = self.members.get(key)
        if value is None or isinstance(value, InvalidNumber):  # strict_json reports invalid numbers
            return None
        path = member_path(self.path, key)
        if not isinstance(value, Decimal):
            self._not_gigabytes(
                path, describe(value), "remove the quotes and the unit" if isinstance(value, str) else ""
            )
        elif value < 0:
            self._not_gigabytes(path, f"{quote(str(value))}, below zero")
        else:
            return MemoryField(path, value)
        return None

    def rounded_up(self, key: str) -> int | None:
        """A number rounded up to an integer; None for 0 too."""
        amount = self.gigabytes(key)
        if amount is None or amount.value == 0:
            return None
        if amount.value > _MAX_INTEGER:
            self._not_gigabytes(
                amount.path, f"{quote(str(amount.value))}, which is more than any device has", "check the unit"
            )
            return None
        return int(amount.value.to_integral_value(ROUND_CEILING))

    def positive_integer(self, key: str) -> int | None:
        """An integer above zero. Anything else counts as absent: only hints are read with this."""
        return _positive_integer(self.members.get(key))

    def positive_integers(self, key: str) -> tuple[int, ...]:
        """The distinct integers above zero of a list, in ascending order. Only hints are read with this."""
        value = self.members.get(key)
        numbers = [_positive_integer(item) for item in value] if isinstance(value, list) else []
        return tuple(sorted({number for number in numbers if number}))

    def check_gigabytes(self, *keys: str) -> None:
        """Reports members that are not a number of gigabytes."""
        for key in keys:
            self.gigabytes(key)

    def check_type(self, key: str, types: type | tuple[type, ...], expected: str) -> None:
        """Reports a member that has none of the types."""
        value = self.members.get(key)
        if value is not None and not isinstance(value, (types, InvalidNumber)):
            self.errors.append(FieldError(member_path(self.path, key), describe(value), expected))

    def check_range(self, amount: MemoryField | None) -> None:
        """Reports an amount other than 0 that is too small or too large for any model."""
        if amount is None or amount.value == 0:
            return
        if amount.value < quantities.MIN_GB:
            value = f"{quote(str(amount.value))} GB, which is less than 64 MiB"
            self.errors.append(FieldError(amount.path, value, "0 or at least 0.0625 gigabytes", "check the unit"))
        elif amount.value > quantities.MAX_GB:
            value = f"{quote(str(amount.value))} GB, which is more than 1 PiB"
            self.errors.append(FieldError(amount.path, value, "at most 1048576 gigabytes", "check the unit"))

    def _not_gigabytes(self, path: str, value: str, hint: str = "") -> None:
        self.errors.append(FieldError(path, value, "a number of gigabytes such as 8 or 12.5", hint))


def _positive_integer(value: object) -> int | None:
    if isinstance(value, Decimal) and 0 < value <= _MAX_INTEGER and value == value.to_integral_value():
        return int(value)
    return None
