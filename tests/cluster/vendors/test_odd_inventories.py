"""No inventory, however odd, makes a claim of ours stop the scheduler's work on a pod.

The vendors' own DeviceClasses fail on some of these devices (they look up what they take for granted), so the classes
here ask for the driver alone, and every device reaches the selectors of the claim.
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
from tests.cluster.vendors import oddities
from tests.cluster.vendors.kit import spec
from tests.cluster.vendors.trials import PENDING, Trial, Trials
from webhook.core.admission_config import AdmissionConfig
from webhook.core.profiles import BUILTIN

pytestmark = pytest.mark.cluster

FULL = os.environ.get("MODELFIT_VENDORS") == "full"
SECONDS, CASES, AT_ONCE = (1200, 5000, 250) if FULL else (60, 300, 150)
"""As many cases as asked for, or as there is time for; so many nodes at a time."""

CLASSES = {name: f"plain.{profile.device_classes[-1]}" for name, profile in BUILTIN.items()}
PLAIN = {
    name: dataclasses.replace(profile, device_classes=(CLASSES[name],), partition_classes=())
    for name, profile in BUILTIN.items()
}


@dataclass(frozen=True)
class Case:
    """A question that depends on the seed alone, so that a failed one can be asked again."""

    seed: int

    @property
    def devices(self) -> Sequence[Device]:
        return oddities.inventory(Random(self.seed), self.asked[0])  # noqa: S311 - chance that can be had again

    @property
    def asked(self) -> tuple[str, str, str, str, int | None]:
        """Profile, gigabytes, count, placement, bandwidth."""
        chance = Random(-self.seed - 1)  # noqa: S311
        return (
            chance.choice(sorted(PLAIN)),
            chance.choice(("0.0625", "5", "7.9", "8", "18", "79.9", "140")),
            chance.choice(("1", "1", "1", "2", "3", "auto")),
            chance.choice(("any", "tightest")),
            chance.choice((None, 161)),
        )

    def trial(self) -> Trial:
        profile, gigabytes, count, placement, bandwidth = self.asked
        config = AdmissionConfig(profiles=PLAIN, placement="tightest" if placement == "tightest" else "any")
        made = spec(gigabytes, profile, count=count, config=config, minBandwidthGBs=bandwidth)
        return Trial(str(self.seed), self.devices, [made])

    def faults(self, outcome: object) -> str | None:
        """What is wrong with the scheduler's answer, if anything is."""
        profile, gigabytes, count, _, bandwidth = self.asked
        number = len(outcome) if isinstance(outcome, tuple) else 0
        if outcome != PENDING and not number:
            return f"the scheduler stopped: {outcome}"
        share = -(-oddities.mebibytes(gigabytes) // max(number, 1))
        good = {each.name for each in self.devices if oddities.fits(each, profile, share, bandwidth)}
        if isinstance(outcome, tuple) and not (set(outcome) <= good and str(number) in count.replace("auto", "1 2")):
            return f"got {outcome} for {self.asked}"
        if not number and count in ("1", "auto") and good:
            return f"got nothing for {self.asked}, though {good} would do"
        return None


@pytest.mark.timeout(1800)
def test_no_inventory_makes_a_claim_of_ours_stop_the_scheduler(trials: Trials) -> None:
    trials.install(DeviceClass(CLASSES[name], f"device.driver == '{oddities.DRIVERS[name]}'") for name in CLASSES)
    deadline = time.monotonic() + SECONDS
    done = 0
    while done < CASES and time.monotonic() < deadline:
        cases = [Case(seed) for seed in range(done, done + AT_ONCE)]
        outcomes = trials.run([case.trial() for case in cases])
        faults = {case.seed: fault for case in cases if (fault := case.faults(outcomes[str(case.seed)][0]))}
        assert not faults
        done += AT_ONCE
    assert done >= AT_ONCE


ANY_TYPE: tuple[Attribute, ...] = ("text", 7, True, Version("1.0.0"))

GOOD: dict[str, dict[str, Attribute]] = {
    "nvidia": {"productName": "H100"},
    "amd": {"type": "amdgpu", "productName": "MI300X"},
    "intel": {"health": "Healthy", "model": "Max 1550"},
    "llmfit": {"kind": "gpu", "healthy": True, "memoryBandwidthGBs": 5300, "model": "MI300X"},
    "hami": {"productName": "H100"},
    "example": {"model": "LATEST-GPU-MODEL"},
}
"""The attributes that a profile looks at."""


def test_an_attribute_of_any_type_stops_nothing(trials: Trials) -> None:
    trials.install(DeviceClass(CLASSES[name], f"device.driver == '{oddities.DRIVERS[name]}'") for name in CLASSES)
    planned = []
    for profile, attributes in GOOD.items():
        wanted = [
            spec("5", profile, count=count, config=AdmissionConfig(profiles=PLAIN), minBandwidthGBs=161)
            for count in ("1", "2")
        ]
        for attribute, value in itertools.product(attributes, ANY_TYPE):
            odd: dict[str, Attribute] = {**attributes, attribute: value}
            devices = [Device(oddities.DRIVERS[profile], name, odd, {"memory": "80Gi"}) for name in ("a", "b", "c")]
            planned.append(Trial(f"{profile} {attribute} {value!r}", devices, wanted))
    outcomes = trials.run(planned)
    stopped = {
        name: found
        for name, found in outcomes.items()
        if any(isinstance(each, str) and each != PENDING for each in found)
    }
    assert not stopped


def test_an_unguarded_selector_does_stop_it(trials: Trials) -> None:
    """What the other test would see."""
    trials.install([DeviceClass("plain", "device.driver == 'gpu.nvidia.com'")])
    node = trials.node(Device("gpu.nvidia.com", "bare"))
    trials.settle()
    expression = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("8Gi")) >= 0'
    unguarded = {"deviceClassName": "plain", "selectors": [{"cel": {"expression": expression}}]}
    outcome = trials.outcome({"devices": {"requests": [{"name": "gpu", "exactly": unguarded}]}}, node)
    assert isinstance(outcome, str)
    assert "no such key: memory" in outcome
