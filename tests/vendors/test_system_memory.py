"""System memory from a memory driver, as a second request of the same claim."""

from __future__ import annotations

import pytest

from testbed.api import JsonObject
from testbed.devices import Attribute, Device, DeviceClass, SharedCapacity
from tests.vendors import nvidia
from tests.vendors.claim_specs import spec
from tests.vendors.scheduling_trials import PENDING, Trials
from webhook.core.admission_config import AdmissionConfig

pytestmark = pytest.mark.cluster

MEMORY = DeviceClass("dra.memory", "device.driver == 'dra.memory'")
WITH_SYSTEM_MEMORY = AdmissionConfig(system_memory_class="dra.memory")


def zone(name: str, size: str) -> Device:
    """One NUMA zone as ffromani/dra-driver-memory publishes it."""
    capacity = {"size": SharedCapacity(size, minimum="1Mi", step="1Mi")}
    attributes: dict[str, Attribute] = {"resource.kubernetes.io/numaNode": 0, "resource.kubernetes.io/pageSize": "4Ki"}
    return Device("dra.memory", name, attributes, capacity, shareable=True)


def allocations(claim: JsonObject) -> dict[str, tuple[str, str]]:
    """The device and the consumed capacity of each request."""
    results = claim["status"]["allocation"]["devices"]["results"]
    return {each["request"]: (each["device"], str(each.get("consumedCapacity"))) for each in results}


def test_a_model_gets_a_card_and_a_share_of_a_memory_zone_that_is_large_enough(trials: Trials) -> None:
    trials.install([*nvidia.CLASSES, MEMORY])
    cards = [nvidia.gpu(f"card-{each}") for each in range(3)]
    node = trials.node(zone("zone-0", "8Gi"), zone("zone-1", "64Gi"), *cards)
    trials.settle()
    claim_spec = spec(8, "nvidia", config=WITH_SYSTEM_MEMORY, ram_gb=30)
    two = trials.create_in_turn(claim_spec, node, 2)
    found = [allocations(claim) for claim in trials.claims(two)]
    assert [each["memory"] for each in found] == [("zone-1", "{'size': '30Gi'}")] * 2
    assert sorted(each["gpu"][0] for each in found) == ["card-0", "card-1"]
    assert trials.outcome(claim_spec, node) == PENDING


def test_a_model_without_system_memory_requests_no_memory_zone(trials: Trials) -> None:
    trials.install([*nvidia.CLASSES, MEMORY])
    node = trials.node(nvidia.gpu("card"))
    trials.settle()
    assert trials.outcome(spec(8, "nvidia", config=WITH_SYSTEM_MEMORY), node) == ("card",)
