"""For every profile, memory size, device count and placement, on exclusive and shared devices: the scheduler allocates
the device that fits by the vendor's facts, and a model that fits nowhere stays pending."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Literal, TypeAlias

import pytest

from tests.vendors.catalog import CLASSES, PROFILES, other_vendors_devices
from tests.vendors.claim_specs import spec
from tests.vendors.expectation import Expectation
from tests.vendors.facts import Specimen
from tests.vendors.scheduling_trials import Outcome, Trial, Trials
from webhook.core.admission_config import AdmissionConfig
from webhook.core.profiles import BUILTIN

pytestmark = pytest.mark.cluster

Placement: TypeAlias = Literal["any", "tightest"]

SIZES = ("5", "18", "39.5", "79.9", "140")
COUNTS: dict[str, tuple[int, ...]] = {"1": (1,), "2": (2,), "auto": (1, 2)}
PLACEMENTS: tuple[Placement, ...] = ("any", "tightest")
ORDERS = 8 if os.environ.get("MODELFIT_VENDORS") == "full" else 1
AT_ONCE = 300
"""Trials in one run: the more nodes there are, the longer the scheduler takes per pod."""

PODS = 2
"""Claims per node, one after the other: the second gets what the first has left."""


def cases() -> Iterator[tuple[Trial, list[Outcome]]]:
    for profile, facts in PROFILES.items():
        for sharing, specimens in facts.inventories.items():
            variations = itertools.product(range(ORDERS), SIZES, COUNTS, PLACEMENTS)
            for turn, (order, size, count, placement) in enumerate(variations):
                label = f"{profile} {sharing} {size}Gi x{count} {placement} order {order}"
                yield case(label, profile, mixed_devices(profile, specimens, order, turn), size, count, placement)


def mixed_devices(profile: str, specimens: Sequence[Specimen], order: int, turn: int) -> list[Specimen]:
    """The inventory and devices of other vendors, in the written order (0) or shuffled."""
    mixed = [*other_vendors_devices(BUILTIN[profile].driver, turn), *specimens]
    if order:
        random.Random(f"{profile} {order}").shuffle(mixed)  # noqa: S311 - reproducible
    return mixed


def case(
    label: str, profile: str, specimens: Sequence[Specimen], size: str, count: str, placement: Placement
) -> tuple[Trial, list[Outcome]]:
    claim_spec = spec(size, profile, count=count, config=AdmissionConfig(placement=placement))
    own = [each for each in specimens if each.device.driver == BUILTIN[profile].driver]
    expectation = Expectation(own, PROFILES[profile])
    mebibytes = -int(-Decimal(size) * 1024 // 1)
    expected = [expectation.claim(mebibytes, COUNTS[count], tightest=placement == "tightest") for _ in range(PODS)]
    return Trial(label, [each.device for each in specimens], [claim_spec] * PODS), expected


@pytest.mark.timeout(1800)
def test_each_model_is_allocated_the_devices_that_hold_it_or_stays_pending(trials: Trials) -> None:
    trials.install(CLASSES)
    planned = list(cases())
    for start in range(0, len(planned), AT_ONCE):
        batch = planned[start : start + AT_ONCE]
        outcomes = trials.run([trial for trial, _ in batch])
        wrong = {
            trial.name: (expected, outcomes[trial.name])
            for trial, expected in batch
            if outcomes[trial.name] != expected
        }
        assert not wrong


def test_the_matrix_has_models_that_fit_and_pending_models_in_every_profile() -> None:
    kinds: dict[str, set[bool]] = {}
    for trial, expected in cases():
        kinds.setdefault(trial.name.split()[0], set()).update(isinstance(each, tuple) for each in expected)
    assert kinds == {profile: {True, False} for profile in BUILTIN}
