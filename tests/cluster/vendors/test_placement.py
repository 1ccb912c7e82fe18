"""`placement: tightest`, profiles with several classes, and DeviceClasses that are not there."""

from __future__ import annotations

import pytest

from testbed.devices import Device
from tests.cluster.drivers import CLASSES, example, nvidia
from tests.cluster.vendors.kit import spec
from tests.cluster.vendors.trials import PENDING, Trials
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
def test_a_small_model_takes_the_small_device_and_the_card_when_only_that_is_free(
    trials: Trials, profile: str, devices: tuple[Device, Device]
) -> None:
    trials.install(CLASSES["nvidia"] + CLASSES["example"])
    node = trials.node(*devices)
    trials.settle()
    wanted = spec(8, profile, config=TIGHTEST)
    assert [trials.outcome(wanted, node) for _ in range(3)] == [("slice",), ("card",), PENDING]


def test_without_it_the_first_device_that_is_large_enough_will_do(trials: Trials) -> None:
    trials.install(CLASSES["nvidia"])
    node = trials.node(CARD, nvidia.gpu("small", "10Gi"))
    trials.settle()
    assert trials.outcome(spec(8, "nvidia"), node) == ("card",)


def test_each_of_two_devices_is_as_small_as_will_do(trials: Trials) -> None:
    trials.install(CLASSES["nvidia"])
    large = [nvidia.gpu(f"large-{each}", "80Gi", product="H100") for each in "ab"]
    small = [nvidia.gpu(f"small-{each}", "24Gi", product="A10") for each in "ab"]
    node = trials.node(*large, *small)
    trials.settle()
    assert trials.outcome(spec(40, "nvidia", count="2", config=TIGHTEST), node) == ("small-a", "small-b")


def test_the_node_with_the_small_device_is_preferred(trials: Trials) -> None:
    trials.install(CLASSES["nvidia"])
    for index in range(3):
        trials.node(nvidia.gpu(f"card-{index}"))
    trials.node(nvidia.gpu("small", "10Gi"))
    trials.settle()
    assert trials.outcome(spec(8, "nvidia", config=TIGHTEST)) == ("small",)


def test_a_class_that_does_not_exist_is_not_listed_where_it_is_known(trials: Trials) -> None:
    (whole,) = (each for each in CLASSES["nvidia"] if each.name == "gpu.nvidia.com")
    trials.install([whole])
    node = trials.node(CARD)
    trials.settle()
    # So it is with every class that is listed and absent, whether or not another would do.
    unknown = trials.outcome(spec(8, "nvidia-mig"), node)
    assert "mig.nvidia.com does not exist" in unknown
    assert trials.outcome(spec(8, "nvidia-mig", classes={"gpu.nvidia.com"}), node) == ("card",)


def test_where_no_class_exists_the_scheduler_names_the_first(trials: Trials) -> None:
    node = trials.node(CARD)
    trials.settle()
    assert "mig.nvidia.com does not exist" in trials.outcome(spec(8, "nvidia-mig", classes=set()), node)
