"""The promise of a rotation, tried at random: at every moment every leaf that may be served is trusted by every bundle
that may be held, whatever the renewer's rhythm, wherever it is killed, and whichever entry of the Secret is broken."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certs import entries
from certs.policy import Policy
from certs.rotation import Action
from tests.certs.foreign_certificates import NOON
from tests.certs.simulated_cluster import Cluster, Cut

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
CUTS: tuple[Cut, ...] = ("", "", "before the write", "after the write")


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Authorities that live minutes, and everything else as tight as a policy may be, or looser."""
    propagation = draw(st.integers(8, 30))
    leaf = draw(st.integers(6 * propagation, 10 * propagation))
    authority = draw(st.integers(3 * leaf, max(3 * leaf, 1200)))
    return Policy(authority * SECOND, leaf * SECOND, propagation * SECOND)


def longest_pause(policy: Policy, skew: timedelta) -> timedelta:
    """How long nobody may look: the last third of a leaf's life also has to hold the propagation and a late clock."""
    return policy.leaf_lifetime / 3 - policy.propagation - 2 * skew - SECOND


@settings(max_examples=20, deadline=None)
@given(
    policies(),
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from(CUTS), st.floats(-1, 1)), min_size=1, max_size=12),
    st.integers(0, 2),
    st.booleans(),
    st.booleans(),
)
def test_an_hour_with_authorities_of_minutes_has_no_gap_whenever_the_renewer_looks_or_dies(
    policy: Policy,
    rhythm: list[tuple[float, Cut, float]],
    skew_seconds: int,
    sees_configuration: bool,
    sees_replicas: bool,
) -> None:
    skew = min(skew_seconds * SECOND, policy.propagation / 8)
    cluster = Cluster(policy, policy.propagation - 2 * skew, NOON, sees_configuration, sees_replicas)
    pause = longest_pause(policy, skew)
    turn, end = 0, cluster.now + HOUR
    while cluster.now < end:
        share, cut, clock = rhythm[turn % len(rhythm)]
        turn += 1
        cluster.round(skew * clock)
        length = max(6 * SECOND, share * pause)
        cluster.pass_time(length / 2)
        if cut:
            cluster.round(-skew * clock, cut)
        cluster.pass_time(length / 2)
    authorities = HOUR / policy.authority_lifetime
    assert cluster.checked > 100
    assert cluster.actions.count(Action.MINT) == 1
    assert cluster.actions.count(Action.SWITCH) >= authorities - 1
    assert cluster.actions.count(Action.SWITCH) <= 3 * authorities + 1
    assert cluster.actions.count(Action.RETIRE) >= cluster.actions.count(Action.SWITCH) - 1


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(entries.ALL),
    st.sampled_from([None, b"", b"garbage", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]),
    st.integers(0, 1200),
)
def test_no_broken_entry_at_any_time_makes_a_gap(entry: str, value: bytes | None, second: int) -> None:
    policy = Policy(600 * SECOND, 200 * SECOND, 20 * SECOND)
    cluster = Cluster(policy, policy.propagation, NOON)

    def go_on(until: int, pause: int) -> None:
        while cluster.now < NOON + until * SECOND:
            cluster.round()
            cluster.pass_time(pause * SECOND)

    go_on(second + 1, pause=14)
    cluster.damage(entry, value)
    go_on(second + 160, pause=4)
    go_on(second + 800, pause=14)
    assert cluster.actions.count(Action.MINT) == 1
    assert entries.parse(cluster.store.stored.data if cluster.store.stored else {}).faults == ()


@pytest.mark.parametrize("sees", [True, False], ids=["looking at clients and replicas", "by time alone"])
def test_a_change_that_is_asked_for_at_any_time_makes_no_gap(sees: bool) -> None:
    policy = Policy(600 * SECOND, 120 * SECOND, 10 * SECOND)
    for asked in range(0, 600, 37):
        cluster = Cluster(policy, policy.propagation, NOON, sees_configuration=sees, sees_replicas=sees)
        while cluster.now < NOON + 700 * SECOND:
            cluster.round(rotate=0 <= (cluster.now - NOON) / SECOND - asked < 4)
            cluster.pass_time(4 * SECOND)
        assert cluster.actions.count(Action.SWITCH) >= 1


def test_a_renewer_that_is_dead_between_secret_and_configuration_for_long_makes_no_gap() -> None:
    policy = Policy(600 * SECOND, 200 * SECOND, 10 * SECOND)
    cluster = Cluster(policy, policy.propagation, NOON)
    cluster.round()
    while Action.PUBLISH not in cluster.actions:
        cluster.pass_time(2 * SECOND)
        cluster.round(cut="after the write")
    assert len(cluster.bundles.changes) == 1
    cluster.pass_time(5 * policy.propagation)
    for _ in range(100):
        cluster.round()
        cluster.pass_time(2 * SECOND)
    assert Action.SWITCH in cluster.actions


def test_the_simulation_sees_a_gap_where_there_is_one() -> None:
    """What it would look like: an authority is replaced at once, as a template does that mints on every upgrade."""
    policy = Policy(600 * SECOND, 200 * SECOND, 20 * SECOND)
    cluster = Cluster(policy, policy.propagation, NOON)
    cluster.round()
    cluster.pass_time(60 * SECOND)
    cluster.store.stored = None
    cluster.round()
    with pytest.raises(AssertionError, match="is refused"):
        cluster.pass_time(10 * SECOND)
