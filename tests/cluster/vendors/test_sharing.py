"""Shareable devices: models have parts of a card's memory until it is used up; nothing else of it is used up first."""

from __future__ import annotations

import dataclasses

import pytest

from testbed.api import JsonObject
from testbed.devices import Device, Share
from tests.cluster.drivers import CLASSES, example, hami, nvidia
from tests.cluster.vendors.kit import spec
from tests.cluster.vendors.trials import PENDING, Trials
from webhook.core.admission_config import AdmissionConfig
from webhook.core.profiles import BUILTIN

pytestmark = pytest.mark.cluster

SHAREABLE = {
    "nvidia": nvidia.shared_gpu("card", "80Gi"),
    "hami": hami.gpu("card", "80Gi"),
    "example": example.gpu("card", "80Gi", shareable=True),
}

OTHER: dict[str, dict[str, str]] = {"nvidia": {}, "hami": {"cores": "0"}, "example": {"compute": "1"}}
"""What each of the nine has of the card's other capacities: the driver's least share."""


def quarter() -> AdmissionConfig:
    """An operator's profile for HAMi's cards: four models on each."""
    mine = dataclasses.replace(BUILTIN["hami"], name="quarter", shares={"cores": "25"})
    return AdmissionConfig(profiles={**BUILTIN, "quarter": mine})


def consumed(claim: JsonObject) -> dict[str, str]:
    """What a claim takes of its one device."""
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    amounts: dict[str, str] = result["consumedCapacity"]
    return amounts


@pytest.mark.parametrize("profile", SHAREABLE)
def test_nine_models_share_a_card_and_the_tenth_waits_until_one_has_gone(trials: Trials, profile: str) -> None:
    trials.install(CLASSES["nvidia"] + CLASSES["hami"] + CLASSES["example"])
    node = trials.node(SHAREABLE[profile])
    trials.settle()
    nine = trials.ask_in_turn(spec(8, profile), node, 9)
    assert [trials.outcomes()[name] for name in nine] == [("card",)] * 9
    assert [consumed(claim) for claim in trials.claims(nine)] == [{"memory": "8Gi", **OTHER[profile]}] * 9

    tenth = trials.ask(spec(16, profile), node)
    trials.wait([tenth])
    assert trials.outcomes()[tenth] == PENDING
    trials.finish(nine[0])
    trials.namespace.wait_bound(tenth)


def test_a_card_that_publishes_only_memory_is_shared_too(trials: Trials) -> None:
    trials.install(CLASSES["example"])
    card = Device(example.DRIVER, "card", {}, {"memory": Share("80Gi", minimum="1Gi", step="1Gi")}, shareable=True)
    node = trials.node(card)
    trials.settle()
    names = trials.ask_in_turn(spec(40, "example"), node, 2)
    assert [trials.outcomes()[name] for name in names] == [("card",)] * 2


def test_two_devices_of_one_model_are_two_cards_and_not_one_twice(trials: Trials) -> None:
    trials.install(CLASSES["hami"])
    alone, pair = trials.node(hami.gpu("a")), trials.node(hami.gpu("b"), hami.gpu("c"))
    trials.settle()
    wanted = spec(20, "hami", count="2")
    assert trials.outcome(wanted, alone) == PENDING
    assert trials.outcome(wanted, pair) == ("b", "c")


def test_an_operators_share_of_another_capacity_is_what_a_model_takes(trials: Trials) -> None:
    trials.install(CLASSES["hami"])
    node = trials.node(hami.gpu("card", "80Gi"))
    trials.settle()
    wanted = spec(8, "quarter", config=quarter())
    trials.ask_in_turn(wanted, node, 4)
    assert trials.outcome(wanted, node) == PENDING
