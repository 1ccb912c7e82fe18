"""The real binary's `llmfit claim` and the profile `llmfit` select the same devices for the same model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
import yaml

from testbed.api import JsonObject
from testbed.devices import Device
from tests.vendors import llmfit
from tests.vendors.claim_specs import spec_of_annotation
from tests.vendors.scheduling_trials import Trial, Trials

pytestmark = pytest.mark.cluster

BINARY = Path(sys.executable).with_name("llmfit")
MODELS = ("Qwen/Qwen2.5-7B", "mistralai/Mistral-7B-Instruct-v0.3", "Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-32B")
SPEEDS = ("5", "20", "60")
INVENTORIES = 40


def llmfit_output(home: Path, *arguments: str) -> str:
    """The output of the binary. Without the binary the test is skipped, and fails if CI is set."""
    if not BINARY.exists():
        reason = f"{BINARY} is not there; install the package llmfit"
        if os.environ.get("CI"):
            pytest.fail(f"{reason} (with CI set, these tests may not be skipped)", pytrace=False)
        pytest.skip(reason)
    environ = {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, env=environ, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def inventory(random: Random) -> list[Device]:
    """Devices as the driver publishes them: a node's CPU has no bandwidth, a network card has no memory."""
    sizes = ("4Gi", "5Gi", "8Gi", "16Gi", "24Gi", "80Gi", "192Gi", None)
    speeds = (None, 40, 161, 288, 400, 1008, 5300)
    devices: list[Device] = []
    for index in range(random.randint(1, 8)):
        name, healthy = f"device-{index}", random.random() >= 0.2
        devices.append(
            random.choice(
                (
                    llmfit.gpu(name, random.choice(sizes), healthy=healthy, bandwidth=random.choice(speeds)),
                    llmfit.gpu(name, random.choice(sizes), bandwidth=random.choice(speeds)),
                    llmfit.gpu(name, "192Gi", vendor_managed=True, bandwidth=5300),
                    llmfit.npu(name, random.choice(sizes), healthy=healthy),
                    llmfit.cpu(name, "512Gi", healthy=healthy),
                    llmfit.nic(name, healthy=healthy),
                )
            )
        )
    return devices


def allocate_all(spec: JsonObject) -> JsonObject:
    """The same claim with allocationMode All: for every device that its selectors match."""
    (request,) = spec["devices"]["requests"]
    return {"devices": {"requests": [{**request, "exactly": {**request["exactly"], "allocationMode": "All"}}]}}


def test_both_select_the_same_devices_on_random_inventories(trials: Trials, tmp_path: Path) -> None:
    trials.install(llmfit.CLASSES)
    pairs = []
    for model in MODELS:
        for speed in SPEEDS:
            command = ("claim", model, "--min-tps", speed)
            from_llmfit = yaml.safe_load(llmfit_output(tmp_path, *command))["spec"]
            from_profile = spec_of_annotation(llmfit_output(tmp_path, "--json", *command), "llmfit")
            pairs.append((from_llmfit, from_profile))
    random = Random(11)  # noqa: S311 - reproducible
    planned = []
    for number in range(INVENTORIES):
        devices, pair = inventory(random), pairs[number % len(pairs)]
        for source, spec in zip(("llmfit", "profile"), pair, strict=True):
            planned.append(Trial(f"{number} first {source}", devices, [spec]))
            planned.append(Trial(f"{number} all {source}", devices, [allocate_all(spec)]))
    outcomes = trials.run(planned)
    by_llmfit = {name.removesuffix(" llmfit"): each for name, each in outcomes.items() if name.endswith(" llmfit")}
    by_profile = {name.removesuffix(" profile"): each for name, each in outcomes.items() if name.endswith(" profile")}
    assert by_profile == by_llmfit
    sizes = {len(outcome[0]) for outcome in by_llmfit.values() if isinstance(outcome[0], tuple)}
    assert len(sizes) >= 3, "the inventories do not tell claims apart"
