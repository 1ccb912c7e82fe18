"""With the gate DRAConsumableCapacity off everywhere, the default before 1.36, the same claims match only
devices that are large enough, and take them whole."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import pytest

from webhook.core.policy import Policy

from ..controlplane import ControlPlane
from ..drivers import CLASSES
from ..servers import Options
from .conftest import FAST
from .expected import Expectation
from .kit import spec
from .oddities import mebibytes
from .specimens import INVENTORIES
from .trials import Outcome, Trial, Trials

pytestmark = pytest.mark.cluster

GATES = {"DRAConsumableCapacity": False}


@pytest.fixture
def old_trials() -> Iterator[Trials]:
    options = Options(feature_gates=GATES, scheduler_flags=FAST, controller_manager_flags=FAST)
    with ControlPlane(options) as plane:
        yield Trials(plane.api())


def cases() -> Iterator[tuple[Trial, list[Outcome]]]:
    for profile, inventories in INVENTORIES.items():
        for (sharing, specimens), need, count in itertools.product(inventories, ("5", "39.5", "79.9"), ("1", "auto")):
            whole = [dataclasses.replace(each, shared=False) for each in specimens]
            expectation = Expectation(whole, profile)
            counts = (1, 2) if count == "auto" else (1,)
            expected = [expectation.claim(mebibytes(need), counts, tightest=True) for _ in range(3)]
            made = spec(need, profile, count=count, policy=Policy(placement="tightest"))
            label = f"{profile} {sharing} {need}Gi x{count}"
            yield Trial(label, [each.device for each in specimens], [made] * 3), expected


def test_claims_match_only_devices_that_are_large_enough_and_take_them_whole(old_trials: Trials) -> None:
    for classes in CLASSES.values():
        old_trials.install(classes)
    planned = list(cases())
    outcomes = old_trials.run([trial for trial, _ in planned])
    wrong = {
        trial.name: (expected, outcomes[trial.name]) for trial, expected in planned if outcomes[trial.name] != expected
    }
    assert not wrong
    claims = old_trials.namespace.claims()
    assert claims
    assert not [claim for claim in claims if "'capacity'" in str(claim["spec"])]
