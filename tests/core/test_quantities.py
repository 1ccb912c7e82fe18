"""Gigabytes to Kubernetes quantities: exact decimals, rounded up, spelled as Kubernetes reads them."""

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from webhook.core.fits import model_fit, quantities
from webhook.core.fits.requirements import ModelRequirements

GIB, MIB = 1 << 30, 1 << 20
AMOUNTS = st.decimals("0.0625", 1 << 20, allow_nan=False) | st.integers(1, 1 << 20).map(Decimal)


def size(quantity: str) -> int:
    """Bytes of a canonical quantity, computed independently."""
    match = re.fullmatch(r"([0-9]+)(Mi|Gi)", quantity)
    assert match, f"{quantity} is not whole Mi or Gi"
    return int(match[1]) * {"Mi": MIB, "Gi": GIB}[match[2]]


@pytest.mark.parametrize(
    ("gigabytes", "canonical", "unrounded"),
    [
        ("0", "0Gi", "0Gi"),
        ("8", "8Gi", "8Gi"),
        ("8.0", "8Gi", "8Gi"),
        ("12", "12Gi", "12Gi"),
        ("12.5", "12800Mi", "12.5Gi"),
        ("12.50", "12800Mi", "12.5Gi"),
        ("0.0625", "64Mi", "0.0625Gi"),
        ("0.0634765625", "65Mi", "0.0634765625Gi"),
        ("5.35455757696", "5484Mi", "5.35455757696Gi"),
        ("1", "1Gi", "1Gi"),
        ("1e1", "10Gi", "10Gi"),
        ("0.99999", "1Gi", "0.99999Gi"),
        ("79.9", "81818Mi", "79.9Gi"),
        ("1048576", "1048576Gi", "1048576Gi"),
        ("7.999999999999999999999999999999999999999999", "8Gi", "7.999999999999999999999999999999999999999999Gi"),
        ("8.000000000000000000000000000000000000000001", "8193Mi", "8.000000000000000000000000000000000000000001Gi"),
    ],
)
def test_an_amount_has_one_canonical_and_one_unrounded_spelling(gigabytes: str, canonical: str, unrounded: str) -> None:
    assert quantities.canonical(quantities.mebibytes(Decimal(gigabytes))) == canonical
    assert quantities.unrounded(Decimal(gigabytes)) == unrounded


@given(AMOUNTS)
@example(Decimal("5.1"))
@example(Decimal("0.1") * 3)
def test_a_quantity_is_rounded_up_by_less_than_a_mebibyte(gigabytes: Decimal) -> None:
    required = Fraction(gigabytes) * GIB
    requested = size(quantities.canonical(quantities.mebibytes(gigabytes)))
    assert required <= requested < required + MIB


@given(AMOUNTS)
def test_a_canonical_quantity_is_unchanged_by_a_second_conversion(gigabytes: Decimal) -> None:
    quantity = quantities.canonical(quantities.mebibytes(gigabytes))
    again = Decimal(size(quantity)) / GIB
    assert quantities.canonical(quantities.mebibytes(again)) == quantity


@given(AMOUNTS)
def test_an_amount_from_json_has_the_same_quantity(gigabytes: Decimal) -> None:
    requirements = model_fit.parse(f'{{"min_vram_gb": {gigabytes}}}', "fit")
    assert requirements.gpu_memory_quantity == quantities.canonical(quantities.mebibytes(gigabytes))


@given(AMOUNTS)
def test_an_unrounded_quantity_is_the_exact_number_of_gibibytes(gigabytes: Decimal) -> None:
    unrounded = quantities.unrounded(gigabytes)
    assert re.fullmatch(r"[0-9]+(\.[0-9]*[1-9])?Gi", unrounded)
    assert Fraction(unrounded.removesuffix("Gi")) == Fraction(gigabytes)


def test_equal_amounts_have_equal_quantities() -> None:
    spellings = ["12.5", "12.50", "1.25e1", "125e-1", "12.500000000"]
    assert {ModelRequirements(Decimal(text)).gpu_memory_quantity for text in spellings} == {"12800Mi"}
    assert {quantities.unrounded(Decimal(text)) for text in spellings} == {"12.5Gi"}


@pytest.mark.parametrize(
    ("quantity", "amount"),
    [
        ("0", 0), ("1", 1), ("12", 12), ("1.5", Fraction(3, 2)), ("+3", 3), ("-3", -3), (".5", Fraction(1, 2)),
        ("5.", 5), ("8Ki", 8 << 10), ("8Mi", 8 << 20), ("8Gi", 8 << 30), ("8Ti", 8 << 40), ("8Pi", 8 << 50),
        ("1Ei", 1 << 60), ("1.5Gi", 3 << 29), ("8k", 8000), ("8M", 8 * 10**6), ("8G", 8 * 10**9),
        ("8T", 8 * 10**12), ("8P", 8 * 10**15), ("1E", 10**18), ("100m", Fraction(1, 10)),
        ("1u", Fraction(1, 10**6)), ("1n", Fraction(1, 10**9)), ("1e3", 1000), ("1E3", 1000), ("1.5e3", 1500),
        ("12e-1", Fraction(6, 5)), (0, 0), (2, 2), (1.5, Fraction(3, 2)), ("0Gi", 0), ("0m", 0), ("000", 0),
    ],
)  # fmt: skip
def test_quantities_of_pods_are_parsed_as_in_kubernetes(quantity: object, amount: Fraction) -> None:
    parsed = quantities.parse(quantity)
    assert parsed is not None
    assert Fraction(parsed) == amount


@pytest.mark.parametrize(
    "quantity",
    ["", "Gi", "8 GiB", "8GiB", "8gi", "8K", "8mi", "eight", "NaN", "Infinity", "-inf", "1e", "0x10", "8Gi8", "--8",
     "1mm", "1EE", None, True, False, [], {}, ["8Gi"]],
)  # fmt: skip
def test_text_that_is_not_a_quantity_is_parsed_as_none(quantity: object) -> None:
    assert quantities.parse(quantity) is None


@pytest.mark.parametrize("quantity", ["1e999999Gi", "1e999999999", "9e999999Ei", 1e308])
def test_a_huge_quantity_is_larger_than_any_other(quantity: object) -> None:
    amount = quantities.parse(quantity)
    assert amount is not None
    assert amount > 1 << 80


@given(st.text(max_size=20) | st.text(alphabet="0123456789.eE+-KMGTPikmnu", max_size=20) | st.floats() | st.integers())
def test_parsing_any_value_does_not_raise(quantity: object) -> None:
    amount = quantities.parse(quantity)
    assert amount is None or not amount.is_nan()
