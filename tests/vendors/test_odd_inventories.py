"""No inventory, however odd, makes a claim of the product abort the scheduling of a pod.

The vendors' own DeviceClasses fail on some of these devices (they look up what they take for granted). So the classes
here select by driver alone, and every device reaches the selectors of the claim.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import pytest

from testbed.devices import Attribute, Device, DeviceClass, Version
from tests.vendors import nvidia, odd_devices
from tests.vendors.catalog import DRIVERS, PROFILES
from tests.vendors.claim_specs import spec
from tests.vendors.scheduling_trials import PENDING, Trial, Trials
from webhook.core.admission_config import AdmissionConfig
from webhook.core.profiles import BUILTIN

pytestmark = pytest.mark.cluster

FULL = os.environ.get("MODELFIT_VENDORS") == "full"
SECONDS, CASES, AT_ONCE = (1200, 5000, 250) if FULL else (60, 300, 150)
"""The number of cases, or as many as fit into the time; so many nodes at once."""

PLAIN = {
    name: dataclasses.replace(profile, device_classes=(f"plain.{profile.device_classes[-1]}",), partition_classes=())
    for name, profile in BUILTIN.items()
}
PLAIN_CLASSES = [
    DeviceClass(profile.device_classes[0], f"device.driver == '{DRIVERS[name]}'") for name, profile in PLAIN.items()
]


@dataclass(frozen=True)
class Case:
    """A claim and an inventory that depend on the seed alone, so that a failed case can be repeated."""

    seed: int

    @property
    def devices(self) -> Sequence[Device]:
        return odd_devices.inventory(Random(self.seed), self.parameters[0])  # noqa: S311 - reproducible

    @property
    def parameters(self) -> tuple[str, str, str, str, int | None]:
        """Profile, gigabytes, count, placement, bandwidth."""
        random = Random(-self.seed - 1)  # noqa: S311
        return (
            random.choice(sorted(PLAIN)),
            random.choice(("0.0625", "5", "7.9", "8", "18", "79.9", "140")),
            random.choice(("1", "1", "1", "2", "3", "auto")),
            random.choice(("any", "tightest")),
            random.choice((None, 161)),
        )

    def trial(self) -> Trial:
        profile, gigabytes, count, placement, bandwidth = self.parameters
        config = AdmissionConfig(profiles=PLAIN, placement="tightest" if placement == "tightest" else "any")
        claim_spec = spec(gigabytes, profile, count=count, config=config, minBandwidthGBs=bandwidth)
        return Trial(str(self.seed), self.devices, [claim_spec])

    def error(self, outcome: object) -> str | None:
        """What is wrong with the outcome, if anything."""
        profile, gigabytes, count, _, bandwidth = self.parameters
        number = len(outcome) if isinstance(outcome, tuple) else 0
        if outcome != PENDING and not number:
            return f"scheduling was aborted: {outcome}"
        share = -(-odd_devices.mebibytes(gigabytes) // max(number, 1))
        good = {each.name for each in self.devices if odd_devices.fits(each, profile, share, bandwidth)}
        if isinstance(outcome, tuple) and not (set(outcome) <= good and str(number) in count.replace("auto", "1 2")):
            return f"got {outcome} for {self.parameters}"
        if not number and count in ("1", "auto") and good:
            return f"got nothing for {self.parameters}, though {good} fit"
        return None


@pytest.mark.timeout(1800)
def test_no_inventory_makes_a_claim_abort_scheduling(trials: Trials) -> None:
    trials.install(PLAIN_CLASSES)
    deadline = time.monotonic() + SECONDS
    done = allocated = 0
    while done < CASES and time.monotonic() < deadline:
        cases = [Case(seed) for seed in range(done, done + AT_ONCE)]
        outcomes = trials.run([case.trial() for case in cases])
        errors = {case.seed: error for case in cases if (error := case.error(outcomes[str(case.seed)][0]))}
        assert not errors
        allocated += sum(isinstance(found, tuple) for (found,) in outcomes.values())
        done += AT_ONCE
    assert done >= AT_ONCE
    assert 0.05 < allocated / done < 0.95, "the inventories do not tell claims apart"


ANY_TYPE: tuple[Attribute, ...] = ("text", 7, True, Version("1.0.0"))


def test_an_attribute_of_any_type_does_not_abort_scheduling(trials: Trials) -> None:
    trials.install(PLAIN_CLASSES)
    planned = []
    for profile, facts in PROFILES.items():
        specs = [
            spec("5", profile, count=count, config=AdmissionConfig(profiles=PLAIN), minBandwidthGBs=161)
            for count in ("1", "2")
        ]
        for attribute, value in itertools.product(facts.attributes, ANY_TYPE):
            attributes: dict[str, Attribute] = {**facts.attributes, attribute: value}
            devices = [Device(DRIVERS[profile], name, attributes, {"memory": "80Gi"}) for name in ("a", "b", "c")]
            planned.append(Trial(f"{profile} {attribute} {value!r}", devices, specs))
    outcomes = trials.run(planned)
    aborted = {
        name: found
        for name, found in outcomes.items()
        if any(isinstance(each, str) and each != PENDING for each in found)
    }
    assert not aborted


def test_an_unguarded_selector_aborts_scheduling(trials: Trials) -> None:
    """What the tests above would report."""
    trials.install([DeviceClass("plain", f"device.driver == '{nvidia.DRIVER}'")])
    node = trials.node(Device(nvidia.DRIVER, "bare"))
    trials.settle()
    expression = f'device.capacity["{nvidia.DRIVER}"].memory.compareTo(quantity("8Gi")) >= 0'
    unguarded = {"deviceClassName": "plain", "selectors": [{"cel": {"expression": expression}}]}
    outcome = trials.outcome({"devices": {"requests": [{"name": "gpu", "exactly": unguarded}]}}, node)
    assert isinstance(outcome, str)
    assert "no such key: memory" in outcome
