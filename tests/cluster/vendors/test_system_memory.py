"""System memory from a memory driver, as a second request of the same claim."""

from __future__ import annotations

import pytest

from testbed.api import JsonObject
from testbed.devices import Attribute, Device, DeviceClass, Share
from tests.cluster.drivers import CLASSES, nvidia
from tests.cluster.vendors.kit import spec
from tests.cluster.vendors.trials import PENDING, Trials
from webhook.core.admission_config import AdmissionConfig

pytestmark = pytest.mark.cluster

MEMORY = DeviceClass("dra.memory", "device.driver == 'dra.memory'")
POLICY = AdmissionConfig(system_memory_class="dra.memory")


def zone(name: str, size: str) -> Device:
    """One NUMA zone, as ffromani/dra-driver-memory publishes it."""
    capacity = {"size": Share(size, minimum="1Mi", step="1Mi")}
    attributes: dict[str, Attribute] = {"resource.kubernetes.io/numaNode": 0, "resource.kubernetes.io/pageSize": "4Ki"}
    return Device("dra.memory", name, attributes, capacity, shareable=True)


def parts(claim: JsonObject) -> dict[str, tuple[str, str]]:
    """Device and consumed size or memory by request."""
    results = claim["status"]["allocation"]["devices"]["results"]
    return {each["request"]: (each["device"], str(each.get("consumedCapacity"))) for each in results}


def test_a_model_gets_a_card_and_its_part_of_a_memory_zone_that_has_it(trials: Trials) -> None:
    trials.install([*CLASSES["nvidia"], MEMORY])
    cards = [nvidia.gpu(f"card-{each}") for each in range(3)]
    node = trials.node(zone("zone-0", "8Gi"), zone("zone-1", "64Gi"), *cards)
    trials.settle()
    wanted = spec(8, "nvidia", config=POLICY, ram_gb=30)
    two = trials.ask_in_turn(wanted, node, 2)
    found = [parts(claim) for claim in trials.claims(two)]
    assert [each["memory"] for each in found] == [("zone-1", "{'size': '30Gi'}")] * 2
    assert sorted(each["gpu"][0] for each in found) == ["card-0", "card-1"]
    assert trials.outcome(wanted, node) == PENDING


def test_a_model_that_names_no_system_memory_asks_for_none(trials: Trials) -> None:
    trials.install([*CLASSES["nvidia"], MEMORY])
    node = trials.node(nvidia.gpu("card"))
    trials.settle()
    assert trials.outcome(spec(8, "nvidia", config=POLICY), node) == ("card",)
