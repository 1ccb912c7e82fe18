from datetime import timedelta

import pytest

from certs import issuing
from certs.exceptions import InvalidRotationConfig
from certs.rotation_config import RotationConfig
from tests.certs.foreign_certificates import NOON, Shape, make

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def test_the_defaults_and_the_exact_limits_are_accepted() -> None:
    RotationConfig()
    RotationConfig(18 * HOUR, 6 * HOUR, HOUR)


@pytest.mark.parametrize(
    ("ca", "leaf", "propagation", "expected"),
    [
        (DAY, HOUR, timedelta(minutes=10, seconds=1), ["6 times the propagation"]),
        (2 * DAY, DAY, HOUR, ["3 times the leaf lifetime"]),
        (DAY, timedelta(0), HOUR, ["leaf lifetime: 0:00:00", "6 times the propagation"]),
        (DAY, HOUR, timedelta(seconds=-1), ["propagation: -1 day"]),
        (timedelta(days=40000), DAY, HOUR, ["CA lifetime: 40000 days"]),
        (HOUR, HOUR, HOUR, ["6 times the propagation", "3 times the leaf lifetime"]),
    ],
    ids=["long propagation", "short CA", "zero leaf", "negative propagation", "CA of a century", "two faults"],
)
def test_durations_that_do_not_fit_together_are_refused_with_every_fault(
    ca: timedelta, leaf: timedelta, propagation: timedelta, expected: list[str]
) -> None:
    with pytest.raises(InvalidRotationConfig) as error:
        RotationConfig(ca, leaf, propagation)
    assert len(error.value.faults) == len(expected)
    for text in expected:
        assert text in str(error.value)


@pytest.mark.parametrize("lifetime", [HOUR, 24 * HOUR, 90 * DAY], ids=str)
def test_a_leaf_is_due_at_two_thirds_of_its_life(lifetime: timedelta) -> None:
    leaf = issuing.issue_leaf(issuing.issue_ca(NOON, 4 * lifetime), ["web.svc"], NOON, lifetime)
    assert RotationConfig().leaf_due(leaf.certificate) == NOON + lifetime * 2 / 3


@pytest.mark.parametrize("leaves", [3, 4, 6, 12])
def test_a_ca_is_due_at_two_thirds_or_two_leaf_lifetimes_before_its_end(leaves: int) -> None:
    due = RotationConfig(leaves * DAY, DAY, HOUR).ca_due(issuing.issue_ca(NOON, leaves * DAY).certificate)
    assert due == NOON + min(leaves * DAY * 2 / 3, (leaves - 2) * DAY)


def test_a_foreign_certificate_shorter_than_the_backdating_is_due_at_its_end() -> None:
    short = make(Shape(start=NOON, end=NOON + timedelta(minutes=2))).certificate
    assert RotationConfig().leaf_due(short) == NOON + timedelta(minutes=2)
