"""`placement: tightest`, profiles with several DeviceClasses, and DeviceClasses that do not exist."""

from __future__ import annotations

import pytest

from testbed.devices import Device
from tests.vendors import example, nvidia
from tests.vendors.claim_specs import spec
from tests.vendors.scheduling_trials import PENDING, Trials
from webhook.core.admission_config import AdmissionConfig

pytestmark = pytest.mark.cluster

TIGHTEST = AdmissionConfig(placement="tightest")
CARD, SLICE = nvidia.gpu("card"), nvidia.mig("slice", "10Gi")


@pytest.mark.parametrize(
    ("profile", "devices"),
    [
        ("nvidia-mig", (CARD, SLICE)),
        ("nvidia", (CARD, nvidia.gpu("slice", "10Gi"))),
        ("example", (example.gpu("card"), example.gpu("slice", "10Gi"))),
    ],
)
def test_tightest_allocates_the_small_device_first_and_then_the_large_one(
    trials: Trials, profile: str, devices: tuple[Device, Device]
) -> None:
    trials.install(nvidia.CLASSES + example.CLASSES)
    node = trials.node(*devices)
    trials.settle()
    claim_spec = spec(8, profile, config=TIGHTEST)
    assert [trials.outcome(claim_spec, node) for _ in range(3)] == [("slice",), ("card",), PENDING]


def test_any_allocates_the_first_device_that_is_large_enough(trials: Trials) -> None:
    trials.install(nvidia.CLASSES)
    node = trials.node(CARD, nvidia.gpu("small", "10Gi"))
    trials.settle()
    assert trials.outcome(spec(8, "nvidia"), node) == ("card",)


def test_tightest_allocates_the_two_smallest_devices_that_fit(trials: Trials) -> None:
    trials.install(nvidia.CLASSES)
    large = [nvidia.gpu(f"large-{each}", "80Gi", product="H100") for each in "ab"]
    small = [nvidia.gpu(f"small-{each}", "24Gi", product="A10") for each in "ab"]
    node = trials.node(*large, *small)
    trials.settle()
    assert trials.outcome(spec(40, "nvidia", count="2", config=TIGHTEST), node) == ("small-a", "small-b")


def test_tightest_prefers_the_node_with_the_smaller_device(trials: Trials) -> None:
    trials.install(nvidia.CLASSES)
    for index in range(3):
        trials.node(nvidia.gpu(f"card-{index}"))
    trials.node(nvidia.gpu("small", "10Gi"))
    trials.settle()
    assert trials.outcome(spec(8, "nvidia", config=TIGHTEST)) == ("small",)


def test_a_class_that_is_known_not_to_exist_is_left_out_of_the_claim(trials: Trials) -> None:
    (whole,) = (each for each in nvidia.CLASSES if each.name == "gpu.nvidia.com")
    trials.install([whole])
    node = trials.node(CARD)
    trials.settle()
    # The scheduler fails on any missing class in the list, even if another alternative fits.
    message = trials.outcome(spec(8, "nvidia-mig"), node)
    assert "mig.nvidia.com does not exist" in message
    assert trials.outcome(spec(8, "nvidia-mig", classes={"gpu.nvidia.com"}), node) == ("card",)


def test_if_no_class_exists_the_scheduler_reports_the_first_one(trials: Trials) -> None:
    node = trials.node(CARD)
    trials.settle()
    assert "mig.nvidia.com does not exist" in trials.outcome(spec(8, "nvidia-mig", classes=set()), node)
