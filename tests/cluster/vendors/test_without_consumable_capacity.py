"""With the gate DRAConsumableCapacity off everywhere, the default before 1.36, the same claims match only
devices that are large enough, and take them whole."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import pytest

from testbed.controlplane import ControlPlane
from testbed.servers import Options
from tests.cluster.drivers import CLASSES
from tests.cluster.vendors.conftest import FAST
from tests.cluster.vendors.expected import Expectation
from tests.cluster.vendors.kit import spec
from tests.cluster.vendors.oddities import mebibytes
from tests.cluster.vendors.specimens import INVENTORIES
from tests.cluster.vendors.trials import Outcome, Trial, Trials
from webhook.core.admission_config import AdmissionConfig

pytestmark = pytest.mark.cluster

GATES = {"DRAConsumableCapacity": False}


@pytest.fixture
def old_trials() -> Iterator[Trials]:
    options = Options(feature_gates=GATES, scheduler_flags=FAST, controller_manager_flags=FAST)
    with ControlPlane(options) as plane:
        yield Trials(plane.api())


def cases() -> Iterator[tuple[Trial, list[Outcome]]]:
    for profile, inventories in INVENTORIES.items():
        for (sharing, specimens), requirements, count in itertools.product(
            inventories, ("5", "39.5", "79.9"), ("1", "auto")
        ):
            whole = [dataclasses.replace(each, shared=False) for each in specimens]
            expectation = Expectation(whole, profile)
            counts = (1, 2) if count == "auto" else (1,)
            expected = [expectation.claim(mebibytes(requirements), counts, tightest=True) for _ in range(3)]
            made = spec(requirements, profile, count=count, config=AdmissionConfig(placement="tightest"))
            label = f"{profile} {sharing} {requirements}Gi x{count}"
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
