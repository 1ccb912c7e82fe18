"""The steps of a rotation without damage."""

from dataclasses import replace
from datetime import timedelta

import pytest

from certs import hostnames, rotation
from certs.exceptions import InvalidNames
from certs.rotation import Action, upcoming
from certs.rotation_config import RotationConfig
from certs.secret_data import State
from tests.certs.foreign_certificates import NOON
from tests.certs.rotation_states import (
    CONFIG,
    DUE,
    HOUR,
    MINUTE,
    NAMES,
    SECOND,
    due,
    leaf,
    minted,
    plan,
    published,
    switched,
    trusts,
    with_new_leaf,
)

# Issuing and renewing the leaf


def test_an_empty_state_gets_a_ca_and_its_leaf() -> None:
    step = plan(State(), NOON)
    assert step.action is Action.MINT
    assert len(step.state.cas) == 1
    assert trusts(step.state, step.state, 0)


def test_nothing_happens_before_anything_is_due() -> None:
    step = plan(minted(), NOON + 4 * HOUR - SECOND)
    assert (step.action, step.state) == (Action.KEEP, minted())


@pytest.mark.parametrize("hours", [4, 6, 6.01, 20], ids=["2/3 of its life", "notAfter", "just after", "long after"])
def test_a_due_or_expired_leaf_is_renewed_by_the_same_ca(hours: float) -> None:
    step = plan(minted(), NOON + hours * HOUR)
    assert step.action is Action.ISSUE
    assert step.state.bundle == minted().bundle
    assert leaf(step.state).certificate.not_valid_after_utc == NOON + (hours + 6) * HOUR
    assert trusts(minted(), step.state, hours)


@pytest.mark.parametrize("hours", [48.001, 1000], ids=["just after notAfter", "long after"])
def test_an_expired_ca_is_replaced(hours: float) -> None:
    step = plan(minted(), NOON + hours * HOUR)
    assert step.action is Action.MINT
    assert trusts(step.state, step.state, hours)


def test_changed_names_make_a_new_leaf_at_once() -> None:
    step = rotation.plan(minted(), ["other.default.svc", "10.0.0.1"], NOON, CONFIG)
    assert step.action is Action.ISSUE
    assert hostnames.on_certificate(leaf(step.state).certificate) == {"other.default.svc", "10.0.0.1"}


def test_order_and_spelling_of_the_names_do_not_matter() -> None:
    state = rotation.plan(State(), ["a.svc", "::1"], NOON, CONFIG).state
    assert rotation.plan(state, ["0:0:0:0:0:0:0:1", "A.svc"], NOON, CONFIG).action is Action.KEEP


@pytest.mark.parametrize("state", [State(), minted()], ids=["empty", "minted"])
def test_invalid_names_are_refused(state: State) -> None:
    with pytest.raises(InvalidNames):
        rotation.plan(state, ["a_b"], NOON, CONFIG)


# Rotating the CA


def test_a_due_ca_gets_a_successor_that_signs_nothing_yet() -> None:
    before, after = due(), published()
    assert (after.leaf, after.current) == (before.leaf, before.current)
    assert set(before.cas) < set(after.cas)
    assert plan(before, DUE - SECOND).action is Action.KEEP


def test_the_next_ca_signs_only_after_the_propagation_time() -> None:
    assert plan(published(), DUE + 10 * MINUTE - SECOND).action is Action.KEEP
    assert switched().current == published().next
    assert trusts(published(), switched(), 32.2)
    assert not trusts(due(), switched(), 32.2)


def test_around_the_switch_every_client_trusts_every_leaf() -> None:
    for client in (published(), switched()):
        for server in (due(), switched()):
            assert trusts(client, server, 32.2)


def test_the_old_ca_leaves_the_bundle_only_after_the_propagation_time() -> None:
    state, switch = switched(), DUE + 10 * MINUTE
    assert plan(state, switch + 10 * MINUTE - SECOND).action is Action.KEEP
    step = plan(state, switch + 10 * MINUTE)
    assert step.action is Action.RETIRE
    assert state.current is not None
    assert step.state.cas == (state.current.certificate,)
    assert step.state.leaf == state.leaf


def test_retired_cas_are_dropped_when_they_expire() -> None:
    state = replace(with_new_leaf(switched(), 47), switched_at=NOON + 48 * HOUR)
    step = plan(state, NOON + 48 * HOUR + SECOND)
    assert (step.action, step.state.retired) == (Action.RETIRE, ())


# The caBundles hold a rotation back


def test_the_propagation_time_begins_when_every_ca_bundle_has_the_next_ca() -> None:
    old = [due().bundle]
    state = plan(due(), DUE, old).state
    assert state.trusted_since is None
    for hours in (0, 1, 5):
        assert plan(with_new_leaf(state, 32 + hours), DUE + hours * HOUR, old).action is Action.KEEP
    new, seen = [state.bundle, state.bundle], DUE + 5 * HOUR
    step = plan(with_new_leaf(state, 37), seen, new)
    assert (step.action, step.state.trusted_since) == (Action.WAIT, seen)
    assert plan(step.state, seen + 9 * MINUTE, new).action is Action.KEEP
    assert plan(step.state, seen + 10 * MINUTE, new).action is Action.SWITCH


@pytest.mark.parametrize("other", [due().bundle, b"", b"garbage"], ids=["old", "empty", "garbage"])
def test_one_ca_bundle_without_the_next_ca_holds_the_switch_back(other: bytes) -> None:
    step = plan(published(), DUE + HOUR, [published().bundle, other])
    assert (step.action, step.state.trusted_since) == (Action.WAIT, None)


def test_without_webhook_configurations_only_time_decides() -> None:
    state = plan(plan(due(), DUE, []).state, DUE, []).state
    assert state.trusted_since == DUE
    assert plan(state, DUE + 10 * MINUTE, []).action is Action.SWITCH


def test_a_ca_bundle_that_changes_all_the_time_does_not_keep_a_leaf_from_renewal() -> None:
    state = plan(due(), DUE, [b""]).state
    assert plan(state, NOON + 35 * HOUR + 20 * MINUTE, [state.bundle]).action is Action.ISSUE


def test_a_leaf_that_ends_with_its_ca_is_not_renewed_in_ever_shorter_intervals() -> None:
    never_updated = [minted().bundle]
    state, actions = due(), []
    for minutes in range(32 * 60, 48 * 60, 5):
        step = plan(state, NOON + minutes * MINUTE, never_updated)
        state = step.state
        actions.append(step.action)
    assert actions.count(Action.PUBLISH) == 1
    assert actions.count(Action.ISSUE) <= 4
    assert leaf(state).certificate.not_valid_after_utc == NOON + 48 * HOUR
    assert plan(state, NOON + 48 * HOUR + SECOND, never_updated).action is Action.SWITCH


# No renewal loops, for any lifetime


@pytest.mark.parametrize("lifetime", [HOUR, 24 * HOUR, 90 * 24 * HOUR], ids=str)
def test_no_lifetime_makes_a_renewal_loop(lifetime: timedelta) -> None:
    config = RotationConfig(4 * lifetime, lifetime, lifetime / 12)
    state, actions, polls = State(), [], 400
    for poll in range(polls):
        now = NOON + poll * 8 * lifetime / polls
        step = rotation.plan(state, NAMES, now, config)
        state = step.state
        actions.append(step.action)
        if step.action is not Action.KEEP:
            # A leaf and its CA may be due at the same moment.
            second = rotation.plan(state, NAMES, now, config)
            assert second.action is not step.action
            assert rotation.plan(second.state, NAMES, now, config).action is Action.KEEP
    assert actions.count(Action.MINT) == 1
    assert 2 <= actions.count(Action.SWITCH) <= 5
    assert 8 <= actions.count(Action.ISSUE) + actions.count(Action.SWITCH) <= 13
    assert actions.count(Action.RETIRE) in (actions.count(Action.SWITCH), actions.count(Action.SWITCH) - 1)


@pytest.mark.parametrize(
    "config", [RotationConfig(30 * HOUR, 2 * HOUR, MINUTE), RotationConfig(4800 * HOUR, 600 * HOUR, MINUTE)]
)
def test_changed_lifetimes_renew_once(config: RotationConfig) -> None:
    state, actions = minted(), []
    for minutes in range(600):
        step = rotation.plan(state, NAMES, NOON + minutes * MINUTE, config)
        state = step.state
        actions.append(step.action)
    assert len([action for action in actions if action is not Action.KEEP]) <= 10


def test_what_is_upcoming_happens_and_not_a_second_earlier() -> None:
    state, now, actions = minted(), NOON, set()
    for _ in range(40):
        at, action = upcoming(state, CONFIG)[0]
        if at > now:
            assert plan(state, at - SECOND).action is Action.KEEP
        step = plan(state, at)
        assert step.action is action
        state, now = step.state, at
        actions.add(action)
    assert actions == {Action.ISSUE, Action.PUBLISH, Action.SWITCH, Action.RETIRE}
