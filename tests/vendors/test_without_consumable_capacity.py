"""With the feature gate DRAConsumableCapacity off, the default before 1.36, the same claims match only devices that are
large enough and allocate them whole."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import pytest

from testbed.controlplane import ControlPlane
from testbed.servers import Options
from tests.vendors.catalog import CLASSES, PROFILES
from tests.vendors.claim_specs import spec
from tests.vendors.conftest import FAST
from tests.vendors.expectation import Expectation
from tests.vendors.odd_devices import mebibytes
from tests.vendors.scheduling_trials import Outcome, Trial, Trials
from webhook.core.admission_config import AdmissionConfig

pytestmark = pytest.mark.cluster

GATES = {"DRAConsumableCapacity": False}


@pytest.fixture
def trials_without_gate() -> Iterator[Trials]:
    options = Options(feature_gates=GATES, scheduler_flags=FAST, controller_manager_flags=FAST)
    with ControlPlane(options) as plane:
        yield Trials(plane.api())


def cases() -> Iterator[tuple[Trial, list[Outcome]]]:
    for profile, facts in PROFILES.items():
        for (sharing, specimens), size, count in itertools.product(
            facts.inventories.items(), ("5", "39.5", "79.9"), ("1", "auto")
        ):
            whole = [dataclasses.replace(each, shared=False) for each in specimens]
            expectation = Expectation(whole, facts)
            counts = (1, 2) if count == "auto" else (1,)
            expected = [expectation.claim(mebibytes(size), counts, tightest=True) for _ in range(3)]
            claim_spec = spec(size, profile, count=count, config=AdmissionConfig(placement="tightest"))
            label = f"{profile} {sharing} {size}Gi x{count}"
            yield Trial(label, [each.device for each in specimens], [claim_spec] * 3), expected


def test_claims_allocate_whole_devices_that_are_large_enough(
    trials_without_gate: Trials,
) -> None:
    trials_without_gate.install(CLASSES)
    planned = list(cases())
    outcomes = trials_without_gate.run([trial for trial, _ in planned])
    wrong = {
        trial.name: (expected, outcomes[trial.name]) for trial, expected in planned if outcomes[trial.name] != expected
    }
    assert not wrong
    claims = trials_without_gate.namespace.claims()
    assert claims
    assert not [claim for claim in claims if "'capacity'" in str(claim["spec"])]
