"""DRA allocates the first device that matches. `tightest` lists smaller devices first and matches the same devices."""

import pytest

from tests.core.builders import Json, fit
from tests.core.claim_specs import OWN, alternatives, config, counts, spec
from tests.core.devices import GIB, has_capacity, matches, usable_device
from webhook.core.admission_config import AdmissionConfig
from webhook.core.profiles import BUILTIN

REQUIRED = 8
EIGHT = fit(vram_gb=REQUIRED, supports_tp=[1, 2, 4])
SIZES = [
    *range(REQUIRED * GIB - 1, REQUIRED * GIB + 2),
    *(size * GIB for size in (9, 10, 11, 12, 16, 24, 32, 48, 64, 80, 192)),
]
TIGHTEST = config(OWN, placement="tightest")

SEVEN_LIMITS = ["18Gi", "20Gi", "24Gi", "32Gi", "48Gi", "64Gi", "128Gi", "any"]
THREE_LIMITS = ["20Gi", "32Gi", "64Gi", "any"]


def first_match(spec: Json, device: Json, *, consumable_capacity: bool = True) -> int | None:
    """The index of the first alternative that the scheduler can allocate the device for."""
    for index, alternative in enumerate(alternatives(spec)):
        if (not consumable_capacity or has_capacity(alternative, device)) and matches(alternative, device):
            return index
    return None


def names(spec: Json) -> list[str]:
    return [each["name"] for each in alternatives(spec)]


def limits(spec: Json) -> list[str]:
    """The upper bound in each alternative's selectors."""
    found = []
    for each in alternatives(spec):
        expressions = [selector["cel"]["expression"] for selector in each["selectors"]]
        bounds = [text.split('quantity("')[1].split('"')[0] for text in expressions if "<= 0" in text]
        found.append(bounds[0] if bounds else "any")
    return found


@pytest.mark.parametrize("consumable_capacity", [True, False])
@pytest.mark.parametrize("profile", BUILTIN)
def test_tightest_matches_smaller_devices_before_larger_ones(profile: str, consumable_capacity: bool) -> None:
    built = spec(EIGHT, profile, config=TIGHTEST)
    devices = [usable_device(profile, size) for size in SIZES]
    indexes = [first_match(built, device, consumable_capacity=consumable_capacity) for device in devices]
    assert indexes[0] is None
    matched = [index for index in indexes if index is not None]
    assert len(matched) == len(SIZES) - 1
    assert matched == sorted(matched)
    assert matched[0] < matched[-1]
    assert len(list(alternatives(built))) <= 8


@pytest.mark.parametrize("count", ["1", "2", "auto"])
@pytest.mark.parametrize("profile", BUILTIN)
def test_tightest_and_any_match_the_same_devices(profile: str, count: str) -> None:
    any_, tightest = (spec(EIGHT, profile, count, config) for config in (AdmissionConfig(), TIGHTEST))
    for memory in (None, 0, GIB, 2 * GIB - 1, 2 * GIB, 4 * GIB - 1, 4 * GIB, *SIZES):
        device = usable_device(profile, memory)
        for gate in (True, False):
            assert (first_match(any_, device, consumable_capacity=gate) is None) is (
                first_match(tightest, device, consumable_capacity=gate) is None
            )


def test_any_with_one_class_is_an_exact_request() -> None:
    assert list(spec(EIGHT)["devices"]["requests"][0]) == ["name", "exactly"]


def test_fewer_devices_take_precedence_over_tighter_ones() -> None:
    listed = counts(spec(EIGHT, count="auto", config=TIGHTEST))
    assert listed == sorted(listed)
    assert set(listed) == {1, 2, 4}


@pytest.mark.parametrize("profile", [name for name, profile in BUILTIN.items() if profile.shares])
def test_a_device_without_the_capacities_in_shares_is_requested_by_memory_alone(profile: str) -> None:
    built = spec(EIGHT, profile)
    complete = usable_device(profile)
    memory_only = complete | {"capacity": {complete["driver"]: {"memory": 80 * GIB}}}
    with_shares, without_shares = first_match(built, complete), first_match(built, memory_only)
    assert with_shares is not None
    assert without_shares is not None
    listed = list(alternatives(built))
    assert listed[with_shares]["capacity"]["requests"] == {"memory": "8Gi", **BUILTIN[profile].shares}
    assert listed[without_shares]["capacity"]["requests"] == {"memory": "8Gi"}
    assert not matches(listed[without_shares], complete)
    assert first_match(built, memory_only, consumable_capacity=False) is not None


@pytest.mark.parametrize(
    ("profile", "count", "expected"),
    [
        ("nvidia", "1", SEVEN_LIMITS),
        ("nvidia", "auto", ["32Gi", "any", "16Gi", "any", "8Gi", "any"]),
        ("nvidia-mig", "1", [each for each in THREE_LIMITS for _ in range(2)]),
        ("example", "1", [each for each in THREE_LIMITS for _ in range(2)]),
        ("example", "auto", ["any"] * 6),
        ("own", "1", ["32Gi"] * 3 + ["any"] * 3),
    ],
)
def test_tightest_uses_the_finest_limits_that_eight_alternatives_allow(
    profile: str, count: str, expected: list[str]
) -> None:
    assert limits(spec(profile=profile, count=count, config=TIGHTEST)) == expected


def test_tightest_uses_finer_limits_if_a_class_does_not_exist() -> None:
    assert limits(spec(profile="nvidia-mig", config=TIGHTEST, classes={"gpu.nvidia.com"})) == SEVEN_LIMITS


def test_limits_that_round_to_the_same_mebibytes_are_listed_once() -> None:
    built = spec(fit(vram_gb=0.0625), count="32", config=TIGHTEST)
    assert limits(built) == ["2Mi", "3Mi", "4Mi", "6Mi", "8Mi", "16Mi", "any"]
    assert len(set(names(built))) == 7


def test_the_name_of_an_alternative_contains_how_it_differs() -> None:
    assert names(spec(count="auto", config=TIGHTEST))[:3] == ["gpu-1-upto-32gi", "gpu-1-any", "gpu-2-upto-16gi"]
    mig = names(spec(profile="nvidia-mig", config=TIGHTEST))
    assert mig[:2] == ["gpu-upto-20gi-class-1", "gpu-upto-20gi-class-2"]
    assert names(spec(profile="example")) == ["gpu", "gpu-memory-only"]
