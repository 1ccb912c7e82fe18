"""For every profile, need, count and placement, on exclusive and on shared devices: the scheduler allocates what fits
by the drivers' own facts, and what fits nothing stays pending."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Literal, TypeAlias

import pytest

from tests.cluster.drivers import CLASSES
from tests.cluster.vendors.expected import Expectation
from tests.cluster.vendors.kit import spec
from tests.cluster.vendors.specimens import INVENTORIES, Specimen, strangers
from tests.cluster.vendors.trials import Outcome, Trial, Trials
from webhook.core.admission_config import AdmissionConfig
from webhook.core.profiles import BUILTIN

pytestmark = pytest.mark.cluster

Placement: TypeAlias = Literal["any", "tightest"]

NEEDS = ("5", "18", "39.5", "79.9", "140")
COUNTS: dict[str, tuple[int, ...]] = {"1": (1,), "2": (2,), "auto": (1, 2)}
PLACEMENTS: tuple[Placement, ...] = ("any", "tightest")
ORDERS = 8 if os.environ.get("MODELFIT_VENDORS") == "full" else 1
AT_ONCE = 300
"""Trials; the more nodes there are, the longer the scheduler takes for each pod."""

PODS = 2
"""Claims on each node, one after the other: the second sees what the first has left."""


def cases() -> Iterator[tuple[Trial, list[Outcome]]]:
    for profile, inventories in INVENTORIES.items():
        for sharing, specimens in inventories:
            variations = itertools.product(range(ORDERS), NEEDS, COUNTS, PLACEMENTS)
            for turn, (order, requirements, count, placement) in enumerate(variations):
                label = f"{profile} {sharing} {requirements}Gi x{count} {placement} order {order}"
                yield case(
                    label, profile, among_strangers(profile, specimens, order, turn), requirements, count, placement
                )


def among_strangers(profile: str, specimens: Sequence[Specimen], order: int, turn: int) -> list[Specimen]:
    """As written at first, in other orders later."""
    mixed = [*strangers(BUILTIN[profile].driver, turn), *specimens]
    if order:
        random.Random(f"{profile} {order}").shuffle(mixed)  # noqa: S311 - an order that can be had again
    return mixed


def case(
    label: str, profile: str, specimens: Sequence[Specimen], requirements: str, count: str, placement: Placement
) -> tuple[Trial, list[Outcome]]:
    made = spec(requirements, profile, count=count, config=AdmissionConfig(placement=placement))
    ours = [each for each in specimens if each.device.driver == BUILTIN[profile].driver]
    expectation = Expectation(ours, profile)
    mebibytes = -int(-Decimal(requirements) * 1024 // 1)
    expected = [expectation.claim(mebibytes, COUNTS[count], tightest=placement == "tightest") for _ in range(PODS)]
    return Trial(label, [each.device for each in specimens], [made] * PODS), expected


@pytest.mark.timeout(1800)
def test_each_model_gets_the_devices_that_hold_it_or_waits(trials: Trials) -> None:
    for classes in CLASSES.values():
        trials.install(classes)
    planned = list(cases())
    for start in range(0, len(planned), AT_ONCE):
        some = planned[start : start + AT_ONCE]
        outcomes = trials.run([trial for trial, _ in some])
        wrong = {
            trial.name: (expected, outcomes[trial.name]) for trial, expected in some if outcomes[trial.name] != expected
        }
        assert not wrong


def test_the_matrix_has_models_that_fit_and_models_that_wait_in_every_profile() -> None:
    kinds: dict[str, set[bool]] = {}
    for trial, expected in cases():
        kinds.setdefault(trial.name.split()[0], set()).update(isinstance(each, tuple) for each in expected)
    assert kinds == {profile: {True, False} for profile in BUILTIN}
