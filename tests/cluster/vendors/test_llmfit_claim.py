"""`llmfit claim`, the real binary, and the profile `llmfit` select the same devices for the same model."""

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
from tests.cluster.drivers import CLASSES, llmfit
from tests.cluster.vendors.kit import annotated
from tests.cluster.vendors.trials import Trial, Trials

pytestmark = pytest.mark.cluster

BINARY = Path(sys.executable).with_name("llmfit")
MODELS = ("Qwen/Qwen2.5-7B", "mistralai/Mistral-7B-Instruct-v0.3", "Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-32B")
SPEEDS = ("5", "20", "60")
INVENTORIES = 40


def printed(home: Path, *arguments: str) -> str:
    """What the binary prints. Without it the test is skipped; in CI it fails."""
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
        name, ill = f"device-{index}", random.random() < 0.2
        devices.append(
            random.choice(
                (
                    llmfit.gpu(name, random.choice(sizes), healthy=not ill, bandwidth=random.choice(speeds)),
                    llmfit.gpu(name, random.choice(sizes), bandwidth=random.choice(speeds)),
                    llmfit.gpu(name, "192Gi", vendor_managed=True, bandwidth=5300),
                    llmfit.npu(name, random.choice(sizes), healthy=not ill),
                    llmfit.cpu(name, "512Gi", healthy=not ill),
                    llmfit.nic(name, healthy=not ill),
                )
            )
        )
    return devices


def every(spec: JsonObject) -> JsonObject:
    """The same claim for all the devices that its selectors match, not for the first of them."""
    (request,) = spec["devices"]["requests"]
    return {"devices": {"requests": [{**request, "exactly": {**request["exactly"], "allocationMode": "All"}}]}}


def test_both_select_the_same_devices_on_random_inventories(trials: Trials, tmp_path: Path) -> None:
    trials.install(CLASSES["llmfit"])
    pairs = []
    for model in MODELS:
        for speed in SPEEDS:
            theirs = yaml.safe_load(printed(tmp_path, "claim", model, "--min-tps", speed))["spec"]
            ours = annotated(printed(tmp_path, "--json", "claim", model, "--min-tps", speed), "llmfit")
            pairs.append((theirs, ours))
    random = Random(11)  # noqa: S311 - chance that can be had again
    planned = []
    for number in range(INVENTORIES):
        devices, (theirs, ours) = inventory(random), pairs[number % len(pairs)]
        for whose, spec in (("theirs", theirs), ("ours", ours)):
            planned.append(Trial(f"{number} first {whose}", devices, [spec]))
            planned.append(Trial(f"{number} all {whose}", devices, [every(spec)]))
    outcomes = trials.run(planned)
    theirs_first = {name: outcome for name, outcome in outcomes.items() if name.endswith("theirs")}
    ours_first = {name.replace("theirs", "ours"): outcome for name, outcome in theirs_first.items()}
    assert {name: outcomes[name] for name in ours_first} == ours_first
    sizes = {len(outcome[0]) for name, outcome in theirs_first.items() if isinstance(outcome[0], tuple)}
    assert len(sizes) >= 3, "these inventories tell nothing apart"
