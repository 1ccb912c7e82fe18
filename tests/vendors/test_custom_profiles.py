"""Custom profiles: devices without published memory, matched by product, and tainted devices."""

from __future__ import annotations

import dataclasses

import pytest

from testbed.devices import Device
from tests.vendors import nvidia
from tests.vendors.claim_specs import spec
from tests.vendors.scheduling_trials import PENDING, Trials
from webhook.core.admission_config import AdmissionConfig
from webhook.core.profiles import BUILTIN

pytestmark = pytest.mark.cluster

SPARK = dataclasses.replace(BUILTIN["nvidia"], name="spark", product_memory={"NVIDIA GB10": 110 << 10})
TAINT = {"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule"}
TOLERANT = dataclasses.replace(
    BUILTIN["nvidia"],
    name="tolerant",
    tolerations=({"key": TAINT["key"], "operator": "Equal", "value": "79", "effect": "NoSchedule"},),
)
CONFIG = AdmissionConfig(profiles={**BUILTIN, "spark": SPARK, "tolerant": TOLERANT})


def test_a_gb10_that_publishes_no_memory_is_allocated_by_its_product(trials: Trials) -> None:
    trials.install(nvidia.CLASSES)
    node = trials.node(Device(nvidia.DRIVER, "gb10", {"type": "gpu", "productName": "NVIDIA GB10", "uuid": "GPU-1"}))
    trials.settle()
    assert trials.outcome(spec(100, "nvidia", config=CONFIG), node) == PENDING
    assert trials.outcome(spec(111, "spark", config=CONFIG), node) == PENDING
    assert trials.outcome(spec(100, "spark", config=CONFIG), node) == ("gb10",)


def test_a_card_that_publishes_memory_is_still_compared_by_it(trials: Trials) -> None:
    trials.install(nvidia.CLASSES)
    attributes = {"type": "gpu", "productName": "NVIDIA GB10"}
    node = trials.node(Device(nvidia.DRIVER, "card", attributes, {"memory": "80Gi"}))
    trials.settle()
    assert trials.outcome(spec(100, "spark", config=CONFIG), node) == PENDING
    assert trials.outcome(spec(80, "spark", config=CONFIG), node) == ("card",)


def test_a_tainted_device_is_allocated_only_with_the_toleration(trials: Trials) -> None:
    trials.install(nvidia.CLASSES)
    attributes = {"type": "gpu", "productName": "NVIDIA H100"}
    node = trials.node(Device(nvidia.DRIVER, "tainted", attributes, {"memory": "80Gi"}, taints=[TAINT]))
    trials.settle()
    assert trials.outcome(spec(8, "nvidia", config=CONFIG), node) == PENDING
    assert trials.outcome(spec(8, "tolerant", config=CONFIG), node) == ("tainted",)
