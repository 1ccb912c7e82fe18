"""Every built-in profile has facts here, so that the tests of this package cover it."""

from __future__ import annotations

from tests.vendors.catalog import DRIVERS, PROFILES, VENDORS
from webhook.core.profiles import BUILTIN


def test_every_built_in_profile_has_facts_and_its_own_driver() -> None:
    assert {name: profile.driver for name, profile in BUILTIN.items()} == DRIVERS


def test_every_class_of_a_profile_is_a_class_of_its_vendor() -> None:
    for vendor in VENDORS.values():
        installed = {each.name for each in vendor.classes}
        assert all(installed.issuperset(BUILTIN[name].device_classes) for name in vendor.profiles)
        assert installed == vendor.matched.keys()


def test_every_profile_states_the_bandwidth_attribute_and_the_other_capacities_that_it_reads() -> None:
    stated = {name: (facts.bandwidth, facts.other_capacity.keys()) for name, facts in PROFILES.items()}
    assert stated == {name: (profile.bandwidth, profile.shares.keys()) for name, profile in BUILTIN.items()}
