"""A rotation has no gap, tried at random: at every moment every caBundle in use trusts every leaf in use, whatever the
interval between reconciles, wherever the controller is killed, and whichever key of the Secret is damaged."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certs import secret_data
from certs.rotation import Action
from certs.rotation_config import RotationConfig
from tests.certs.foreign_certificates import NOON
from tests.certs.simulated_cluster import Cluster, Kill

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
KILLS: tuple[Kill, ...] = ("", "", "before the write", "after the write")


@st.composite
def configs(draw: st.DrawFn) -> RotationConfig:
    """CAs that live minutes; the other durations as short as they may be, or longer."""
    propagation = draw(st.integers(8, 30))
    leaf = draw(st.integers(6 * propagation, 10 * propagation))
    ca = draw(st.integers(3 * leaf, max(3 * leaf, 1200)))
    return RotationConfig(ca * SECOND, leaf * SECOND, propagation * SECOND)


def max_pause(config: RotationConfig, skew: timedelta) -> timedelta:
    """The longest time without a reconcile: the last third of a leaf's life also holds the propagation and the skew."""
    return config.leaf_lifetime / 3 - config.propagation - 2 * skew - SECOND


@settings(max_examples=20, deadline=None)
@given(
    configs(),
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from(KILLS), st.floats(-1, 1)), min_size=1, max_size=12),
    st.integers(0, 2),
    st.booleans(),
)
def test_an_hour_with_cas_of_minutes_has_no_gap_whenever_the_controller_runs_or_is_killed(
    config: RotationConfig, rounds: list[tuple[float, Kill, float]], skew_seconds: int, reads_configuration: bool
) -> None:
    skew = min(skew_seconds * SECOND, config.propagation / 8)
    cluster = Cluster(config, config.propagation - 2 * skew, NOON, reads_configuration)
    pause = max_pause(config, skew)
    turn, end = 0, cluster.now + HOUR
    while cluster.now < end:
        share, kill, clock = rounds[turn % len(rounds)]
        turn += 1
        cluster.reconcile(skew * clock)
        length = max(6 * SECOND, share * pause)
        cluster.pass_time(length / 2)
        if kill:
            cluster.reconcile(-skew * clock, kill)
        cluster.pass_time(length / 2)
    cas = HOUR / config.ca_lifetime
    assert cluster.checked > 100
    assert cluster.actions.count(Action.MINT) == 1
    assert cas - 1 <= cluster.actions.count(Action.SWITCH) <= 3 * cas + 1
    assert cluster.actions.count(Action.RETIRE) >= cluster.actions.count(Action.SWITCH) - 1


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(secret_data.KEYS),
    st.sampled_from([None, b"", b"garbage", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]),
    st.integers(0, 1200),
)
def test_a_damaged_key_at_any_time_makes_no_gap(key: str, value: bytes | None, second: int) -> None:
    config = RotationConfig(600 * SECOND, 200 * SECOND, 20 * SECOND)
    cluster = Cluster(config, config.propagation, NOON)

    def run(until: int, pause: int) -> None:
        while cluster.now < NOON + until * SECOND:
            cluster.reconcile()
            cluster.pass_time(pause * SECOND)

    run(second + 1, pause=14)
    cluster.damage(key, value)
    run(second + 160, pause=4)
    run(second + 800, pause=14)
    assert cluster.actions.count(Action.MINT) == 1
    assert secret_data.parse(cluster.data)[1] == []


def test_a_controller_that_is_killed_between_secret_and_configuration_for_long_makes_no_gap() -> None:
    config = RotationConfig(600 * SECOND, 200 * SECOND, 10 * SECOND)
    cluster = Cluster(config, config.propagation, NOON)
    cluster.reconcile()
    while Action.PUBLISH not in cluster.actions:
        cluster.pass_time(2 * SECOND)
        cluster.reconcile(kill="after the write")
    assert len(cluster.bundles.changes) == 1
    cluster.pass_time(5 * config.propagation)
    for _ in range(100):
        cluster.reconcile()
        cluster.pass_time(2 * SECOND)
    assert Action.SWITCH in cluster.actions


def test_the_simulation_detects_a_gap() -> None:
    """A CA that is replaced at once, as by a chart that generates one on every upgrade."""
    config = RotationConfig(600 * SECOND, 200 * SECOND, 20 * SECOND)
    cluster = Cluster(config, config.propagation, NOON, reads_configuration=False)
    cluster.reconcile()
    cluster.pass_time(60 * SECOND)
    cluster.data = {}
    cluster.reconcile()
    with pytest.raises(AssertionError, match="is refused"):
        cluster.pass_time(10 * SECOND)
