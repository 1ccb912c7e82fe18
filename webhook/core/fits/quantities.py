"""Gigabytes to Kubernetes quantities and back.

llmfit's "GB" is taken as GiB: its own `claim` command prints `memoryGi`, and the reading is on the safe side.
Nothing here rounds down: an 80 GB card holds less than 80Gi, and a claim must never ask for less than was said.
"""

from decimal import Context, Decimal, InvalidOperation

GIB = 1 << 30
MIB = 1 << 20

LEAST_GB = Decimal(64) / 1024
"""64 MiB in GiB. Nothing that is called a language model is smaller; a unit mistake is."""

MOST_GB = Decimal(1 << 20)
"""1 PiB in GiB."""

_SUFFIXES = {
    "": Decimal(1), "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"),
    "k": Decimal(10) ** 3, "M": Decimal(10) ** 6, "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12, "P": Decimal(10) ** 15, "E": Decimal(10) ** 18,
    "Ki": Decimal(1 << 10), "Mi": Decimal(MIB), "Gi": Decimal(GIB),
    "Ti": Decimal(1 << 40), "Pi": Decimal(1 << 50), "Ei": Decimal(1 << 60),
}  # fmt: skip

# Without traps: 1e999999Gi, which anybody may write, is infinitely much, not an exception.
_ARITHMETIC = Context(traps=[])


def mebibytes(gigabytes: Decimal) -> int:
    """Whole MiB that hold `gigabytes` (GiB, 0 to 1 PiB), rounded up."""
    numerator, denominator = gigabytes.as_integer_ratio()
    return -(-numerator * 1024 // denominator)


def canonical(mebibytes: int) -> str:
    """The one spelling of an amount in a v1 claim: `8Gi` where it is whole GiB, else `12800Mi`."""
    gibibytes, rest = divmod(mebibytes, 1024)
    return f"{mebibytes}Mi" if rest else f"{gibibytes}Gi"


def unrounded(gigabytes: Decimal) -> str:
    """The number with `Gi` behind it, as llmfit documents its v1alpha2 manifest: `12Gi`, `12.5Gi`."""
    text = format(gigabytes, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text}Gi"


def parse(quantity: object) -> Decimal | None:
    """Bytes (or units) of a quantity as a pod may carry it: text, or a bare number. None where it is not one: the
    API server refuses such a pod itself, after us."""
    if isinstance(quantity, bool) or not isinstance(quantity, (str, int, float, Decimal)):
        return None
    text = str(quantity).strip()
    number = text.rstrip("EPTGMKkimnu")
    factor = _SUFFIXES.get(text[len(number) :])
    try:
        value = Decimal(number)
    except InvalidOperation:
        return None
    return _ARITHMETIC.multiply(value, factor) if factor is not None and value.is_finite() else None
