"""Shareable devices: models share a card until its memory is consumed, whatever its other capacities."""

from __future__ import annotations

import dataclasses

import pytest

from testbed.api import JsonObject
from testbed.devices import Device, SharedCapacity
from tests.vendors import example, hami
from tests.vendors.catalog import CLASSES, PROFILES
from tests.vendors.claim_specs import spec
from tests.vendors.scheduling_trials import PENDING, Trials
from webhook.core.admission_config import AdmissionConfig
from webhook.core.profiles import BUILTIN

pytestmark = pytest.mark.cluster

CARDS = {name: facts.shareable for name, facts in PROFILES.items() if facts.shareable is not None}


def consumed(claim: JsonObject) -> dict[str, str]:
    """The capacity that a claim consumes of its one device."""
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    amounts: dict[str, str] = result["consumedCapacity"]
    return amounts


@pytest.mark.parametrize("profile", CARDS)
def test_nine_models_share_a_card_and_the_tenth_waits_until_one_is_deleted(trials: Trials, profile: str) -> None:
    trials.install(CLASSES)
    node = trials.node(CARDS[profile])
    trials.settle()
    nine = trials.create_in_turn(spec(8, profile), node, 9)
    assert [trials.outcomes()[name] for name in nine] == [("card",)] * 9
    expected = {"memory": "8Gi", **PROFILES[profile].consumed}
    assert [consumed(claim) for claim in trials.claims(nine)] == [expected] * 9

    tenth = trials.create(spec(16, profile), node)
    trials.wait([tenth])
    assert trials.outcomes()[tenth] == PENDING
    trials.delete(nine[0])
    trials.namespace.wait_bound(tenth)


def test_a_card_that_publishes_only_memory_is_shared_too(trials: Trials) -> None:
    trials.install(example.CLASSES)
    memory = SharedCapacity("80Gi", minimum="1Gi", step="1Gi")
    node = trials.node(Device(example.DRIVER, "card", {}, {"memory": memory}, shareable=True))
    trials.settle()
    names = trials.create_in_turn(spec(40, "example"), node, 2)
    assert [trials.outcomes()[name] for name in names] == [("card",)] * 2


def test_two_devices_are_two_cards_and_never_one_card_twice(trials: Trials) -> None:
    trials.install(hami.CLASSES)
    single, pair = trials.node(hami.gpu("a")), trials.node(hami.gpu("b"), hami.gpu("c"))
    trials.settle()
    claim_spec = spec(20, "hami", count="2")
    assert trials.outcome(claim_spec, single) == PENDING
    assert trials.outcome(claim_spec, pair) == ("b", "c")


def test_a_custom_profile_sets_the_share_of_another_capacity(trials: Trials) -> None:
    trials.install(hami.CLASSES)
    node = trials.node(hami.gpu("card", "80Gi"))
    trials.settle()
    quarter = dataclasses.replace(BUILTIN["hami"], name="quarter", shares={"cores": "25"})
    claim_spec = spec(8, "quarter", config=AdmissionConfig(profiles={**BUILTIN, "quarter": quarter}))
    trials.create_in_turn(claim_spec, node, 4)
    assert trials.outcome(claim_spec, node) == PENDING
