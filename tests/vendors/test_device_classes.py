"""The API server accepts every vendor's devices, and its DeviceClasses match the same devices as in the field."""

from __future__ import annotations

import pytest

from tests.vendors.catalog import CLASSES, VENDORS
from tests.vendors.scheduling_trials import Trials

pytestmark = pytest.mark.cluster


def test_a_class_matches_all_its_devices_and_no_others(trials: Trials) -> None:
    trials.install(CLASSES)
    node = trials.node(*(device for vendor in VENDORS.values() for device in vendor.devices))
    trials.settle()
    found = {}
    for each in CLASSES:
        # Also unhealthy devices, which their driver taints: a class matches them all the same.
        request = {
            "deviceClassName": each.name,
            "tolerations": [{"operator": "Exists"}],
            "allocationMode": "All",
        }
        name = trials.create({"devices": {"requests": [{"name": "all", "exactly": request}]}}, node)
        trials.namespace.wait_bound(name)
        found[each.name] = set(trials.outcomes()[name])
        trials.delete(name)
        trials.namespace.wait_claims(0)
    assert found == {name: matched for vendor in VENDORS.values() for name, matched in vendor.matched.items()}
