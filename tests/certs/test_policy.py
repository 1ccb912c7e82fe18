from datetime import timedelta

import pytest

from certs import mint
from certs.errors import InvalidPolicy
from certs.policy import Policy
from tests.certs.foreign_certificates import NOON, Shape, make

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LIFETIMES = [HOUR, 24 * HOUR, 90 * DAY]


def test_the_defaults_go_together() -> None:
    assert Policy().leaf_lifetime < Policy().authority_lifetime


@pytest.mark.parametrize(
    ("authority", "leaf", "propagation", "named"),
    [
        (DAY, HOUR, timedelta(minutes=10, seconds=1), ["6 times the propagation"]),
        (2 * DAY, DAY, HOUR, ["3 times the leaf lifetime"]),
        (DAY, timedelta(0), HOUR, ["leaf lifetime: 0:00:00", "6 times the propagation"]),
        (DAY, HOUR, timedelta(seconds=-1), ["propagation: -1 day"]),
        (timedelta(days=40000), DAY, HOUR, ["authority lifetime: 40000 days"]),
        (HOUR, HOUR, HOUR, ["6 times the propagation", "3 times the leaf lifetime"]),
    ],
    ids=["propagation too long", "authority too short", "no life", "back in time", "for ever", "two faults"],
)
def test_wrong_combinations_are_rejected_with_every_fault(
    authority: timedelta, leaf: timedelta, propagation: timedelta, named: list[str]
) -> None:
    with pytest.raises(InvalidPolicy) as refused:
        Policy(authority, leaf, propagation)
    assert len(refused.value.faults) == len(named)
    for words in named:
        assert words in str(refused.value)


def test_the_exact_limits_are_accepted() -> None:
    assert Policy(18 * HOUR, 6 * HOUR, HOUR).leaf_lifetime == 6 * HOUR


@pytest.mark.parametrize("lifetime", LIFETIMES, ids=str)
def test_a_leaf_is_due_at_two_thirds_of_its_life(lifetime: timedelta) -> None:
    leaf = mint.leaf(mint.authority(NOON, 4 * lifetime), ["web.svc"], NOON, lifetime)
    assert Policy().leaf_due(leaf.certificate) == NOON + lifetime * 2 / 3


@pytest.mark.parametrize("leaves", [3, 4, 6, 12])
def test_an_authority_is_due_at_two_thirds_or_two_leaf_lifetimes_before_its_end(leaves: int) -> None:
    policy = Policy(leaves * DAY, DAY, HOUR)
    due = policy.authority_due(mint.authority(NOON, leaves * DAY).certificate)
    assert due == NOON + min(leaves * DAY * 2 / 3, (leaves - 2) * DAY)


def test_a_strangers_certificate_that_is_shorter_than_the_back_dating_is_due_at_its_end() -> None:
    short = make(Shape(start=NOON, end=NOON + timedelta(minutes=2))).certificate
    assert Policy().leaf_due(short) == NOON + timedelta(minutes=2)
