"""Gigabytes to Kubernetes quantities and back.

llmfit's "GB" is read as GiB: its own `claim` command prints `memoryGi`, and GiB is the safe reading.
Nothing is rounded down: a claim never requests less than the fit says. (An "80 GB" card holds less than 80Gi.)
"""

from decimal import Context, Decimal, InvalidOperation

GIB = 1 << 30
MIB = 1 << 20

MIN_GB = Decimal(64) / 1024
"""64 MiB in GiB. No language model is smaller; a smaller number is in another unit."""

MAX_GB = Decimal(1 << 20)
"""1 PiB in GiB."""

_SUFFIXES = {
    "": Decimal(1), "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"),
    "k": Decimal(10) ** 3, "M": Decimal(10) ** 6, "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12, "P": Decimal(10) ** 15, "E": Decimal(10) ** 18,
    "Ki": Decimal(1 << 10), "Mi": Decimal(MIB), "Gi": Decimal(GIB),
    "Ti": Decimal(1 << 40), "Pi": Decimal(1 << 50), "Ei": Decimal(1 << 60),
}  # fmt: skip

# Without traps 1e999999Gi becomes infinity. With them it raises, and users control the text.
_ARITHMETIC = Context(traps=[])


def mebibytes(gigabytes: Decimal) -> int:
    """An amount of GiB (0 to 1 PiB) in MiB, rounded up."""
    numerator, denominator = gigabytes.as_integer_ratio()
    return -(-numerator * 1024 // denominator)


def canonical(mebibytes: int) -> str:
    """The spelling of an amount in claims: `8Gi` if it is a whole number of GiB, else `12800Mi`."""
    gibibytes, rest = divmod(mebibytes, 1024)
    return f"{mebibytes}Mi" if rest else f"{gibibytes}Gi"


def unrounded(gigabytes: Decimal) -> str:
    """The exact number of GiB, as in llmfit's documented v1alpha2 manifest: `12Gi`, `12.5Gi`."""
    text = format(gigabytes, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text}Gi"


def parse(quantity: object) -> Decimal | None:
    """The value of a quantity in a pod, text or bare number, in bytes (or units). None if it is not a quantity: the API
    server rejects such a pod after admission."""
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
