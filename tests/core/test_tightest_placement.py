"""`tightest`: as fine a ladder as 8 alternatives have room for, and never without its last rung."""

from __future__ import annotations

import pytest

from tests.core.devices import requests
from tests.core.kit import Json
from tests.core.profile_claims import OWN, config, names, spec

TIGHTEST = config(OWN, placement="tightest")

SEVEN = ["18Gi", "20Gi", "24Gi", "32Gi", "48Gi", "64Gi", "128Gi", "any"]
THREE = ["20Gi", "32Gi", "64Gi", "any"]


def bounds(made: Json) -> list[str]:
    """What each alternative's device may have at most, by its selector."""
    found = []
    for each in requests(made):
        texts = [selector["cel"]["expression"] for selector in each["selectors"]]
        most = [text.split('quantity("')[1].split('"')[0] for text in texts if "<= 0" in text]
        found.append(most[0] if most else "any")
    return found


@pytest.mark.parametrize(
    ("profile", "count", "wanted"),
    [
        ("nvidia", "1", SEVEN),
        ("nvidia-mig", "1", [each for each in THREE for _ in range(2)]),
        ("example", "1", [each for each in THREE for _ in range(2)]),
        ("own", "1", ["32Gi"] * 3 + ["any"] * 3),
    ],
)
def test_the_ladder_is_as_fine_as_there_is_room(profile: str, count: str, wanted: list[str]) -> None:
    assert bounds(spec(profile, count, TIGHTEST)) == wanted


def test_classes_that_do_not_exist_leave_their_room_to_the_ladder() -> None:
    assert bounds(spec("nvidia-mig", "1", TIGHTEST, classes={"gpu.nvidia.com"})) == SEVEN


def test_every_count_has_its_own_ladder() -> None:
    assert bounds(spec("nvidia", "auto", TIGHTEST)) == ["32Gi", "any", "16Gi", "any", "8Gi", "any"]


def test_a_name_says_in_what_an_alternative_differs() -> None:
    assert names(spec("nvidia", "auto", TIGHTEST))[:3] == ["gpu-1-upto-32gi", "gpu-1-any", "gpu-2-upto-16gi"]
    assert names(spec("nvidia-mig", "1", TIGHTEST))[:2] == ["gpu-upto-20gi-class-1", "gpu-upto-20gi-class-2"]
    assert names(spec("example")) == ["gpu", "gpu-memory-only"]
