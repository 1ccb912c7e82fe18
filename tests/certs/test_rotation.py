from datetime import timedelta

import pytest

from certs import names
from certs.errors import InvalidNames
from certs.evidence import Evidence
from certs.policy import Policy
from certs.rotation import Action, plan, upcoming
from certs.state import State, bundle
from tests.certs.foreign_certificates import NOON, Shape, make
from tests.certs.rotating import (
    DUE,
    HOUR,
    MINUTE,
    NAMES,
    POLICY,
    SECOND,
    der,
    due_state,
    fresh_leaf,
    leaf,
    minted,
    published,
    switched,
    trusts,
)

# The usual course


def test_an_empty_state_gets_one_authority_and_its_leaf() -> None:
    step = plan(State(), NAMES, NOON, POLICY)
    assert step.action is Action.MINT
    assert len(step.state.authorities()) == 1
    assert trusts(step.state, step.state, 0)


def test_nothing_is_done_before_anything_is_due() -> None:
    state = minted()
    step = plan(state, NAMES, NOON + 4 * HOUR - SECOND, POLICY)
    assert (step.action, step.state) == (Action.KEEP, state)


def test_a_leaf_is_renewed_by_the_same_authority_exactly_at_two_thirds_of_its_life() -> None:
    state = minted()
    step = plan(state, NAMES, NOON + 4 * HOUR, POLICY)
    assert step.action is Action.ISSUE
    assert bundle(step.state) == bundle(state)
    assert leaf(step.state).certificate.not_valid_after_utc == NOON + 10 * HOUR
    assert trusts(state, step.state, 4)


@pytest.mark.parametrize("hours", [6, 6.001, 20], ids=["at notAfter", "just after", "long after"])
def test_a_leaf_that_was_forgotten_is_renewed_by_the_same_authority(hours: float) -> None:
    state = minted()
    step = plan(state, NAMES, NOON + hours * HOUR, POLICY)
    assert step.action is Action.ISSUE
    assert bundle(step.state) == bundle(state)
    assert trusts(state, step.state, hours)


@pytest.mark.parametrize("hours", [48.001, 1000], ids=["just after notAfter", "long after"])
def test_an_authority_that_was_forgotten_until_it_expired_is_made_anew(hours: float) -> None:
    step = plan(minted(), NAMES, NOON + hours * HOUR, POLICY)
    assert step.action is Action.MINT
    assert trusts(step.state, step.state, hours)


def test_other_names_make_another_leaf_at_once() -> None:
    step = plan(minted(), ["other.default.svc", "10.0.0.1"], NOON, POLICY)
    assert step.action is Action.ISSUE
    assert names.of(leaf(step.state).certificate) == {"other.default.svc", "10.0.0.1"}


def test_the_same_names_in_another_order_or_spelling_change_nothing() -> None:
    state = plan(State(), ["a.svc", "::1"], NOON, POLICY).state
    assert plan(state, ["0:0:0:0:0:0:0:1", "A.svc"], NOON, POLICY).action is Action.KEEP


def test_wrong_names_are_refused_before_anything_is_made() -> None:
    for state in (State(), minted()):
        with pytest.raises(InvalidNames):
            plan(state, ["a_b"], NOON, POLICY)


# A change of the authority


def test_an_authority_that_is_due_gets_a_successor_that_signs_nothing_yet() -> None:
    before, after = due_state(), published()
    assert after.leaf == before.leaf
    assert after.current == before.current
    assert set(before.authorities()) < set(after.authorities())
    assert plan(before, NAMES, DUE - SECOND, POLICY).action is Action.KEEP


def test_the_successor_signs_only_after_the_propagation_time() -> None:
    state = published()
    assert plan(state, NAMES, DUE + 10 * MINUTE - SECOND, POLICY).action is Action.KEEP
    after = switched()
    assert after.current == state.next
    assert trusts(state, after, 32.2)
    assert not trusts(due_state(), after, 32.2)


def test_around_the_switch_every_client_trusts_every_leaf() -> None:
    for holder in (published(), switched()):
        for server in (due_state(), switched()):
            assert trusts(holder, server, 32.2)


def test_the_old_authority_leaves_the_bundle_only_after_the_propagation_time() -> None:
    state = switched()
    switch = DUE + 10 * MINUTE
    assert plan(state, NAMES, switch + 10 * MINUTE - SECOND, POLICY).action is Action.KEEP
    step = plan(state, NAMES, switch + 10 * MINUTE, POLICY)
    assert step.action is Action.RETIRE
    assert state.current is not None
    assert step.state.authorities() == (state.current.certificate,)
    assert step.state.leaf == state.leaf


def test_a_retired_authority_stays_while_a_replica_is_seen_with_its_leaf() -> None:
    state, later = switched(), DUE + 2 * HOUR
    new, old = der(leaf(switched())), der(leaf(due_state()))
    assert plan(state, NAMES, later, POLICY, Evidence(serving=[new, old])).action is Action.KEEP
    assert plan(state, NAMES, later, POLICY, Evidence(serving=[new, old], settled=True)).action is Action.KEEP
    assert plan(state, NAMES, later, POLICY, Evidence(serving=[new])).action is Action.RETIRE
    assert plan(state, NAMES, later, POLICY, Evidence(serving=[])).action is Action.RETIRE


def test_a_replica_with_a_strangers_or_an_expired_leaf_holds_nothing_back() -> None:
    state, late = fresh_leaf(switched(), 37), NOON + 38 * HOUR
    for served in (der(make(Shape(names=NAMES))), b"garbage", der(leaf(due_state()))):
        assert plan(state, NAMES, late, POLICY, Evidence(serving=[served])).action is Action.RETIRE


def test_retired_authorities_go_when_they_expire_whatever_is_seen() -> None:
    state = switched()
    expired = NOON + 48 * HOUR + SECOND
    step = plan(fresh_leaf(state, 47), NAMES, expired, POLICY, Evidence(serving=[b"garbage"]))
    assert step.action is Action.RETIRE
    assert step.state.retired == ()


# What is seen holds back, and never hurries


def test_the_wait_begins_only_when_the_bundle_is_where_clients_look() -> None:
    old_bundle = bundle(due_state())
    state = plan(due_state(), NAMES, DUE, POLICY, Evidence(bundles=[old_bundle])).state
    assert state.trusted_since is None
    for hours in (0, 1, 5):
        unseen = plan(fresh_leaf(state, 32 + hours), NAMES, DUE + hours * HOUR, POLICY, Evidence(bundles=[old_bundle]))
        assert unseen.action is Action.KEEP
    seen = Evidence(bundles=[bundle(state), bundle(state)])
    step = plan(fresh_leaf(state, 37), NAMES, DUE + 5 * HOUR, POLICY, seen)
    assert (step.action, step.state.trusted_since) == (Action.WAIT, DUE + 5 * HOUR)
    assert plan(step.state, NAMES, DUE + 5 * HOUR + 9 * MINUTE, POLICY, seen).action is Action.KEEP
    assert plan(step.state, NAMES, DUE + 5 * HOUR + 10 * MINUTE, POLICY, seen).action is Action.SWITCH


def test_one_configuration_that_lacks_the_successor_holds_the_switch_back() -> None:
    state = published()
    later = DUE + HOUR
    for lacking in (bundle(due_state()), b"", b"garbage"):
        step = plan(state, NAMES, later, POLICY, Evidence(bundles=[bundle(state), lacking], settled=True))
        assert (step.action, step.state.trusted_since) == (Action.WAIT, None)


def test_where_there_is_no_configuration_nobody_is_waited_for_but_the_time() -> None:
    nobody = Evidence(bundles=[])
    unstamped = plan(due_state(), NAMES, DUE, POLICY, nobody).state
    state = plan(unstamped, NAMES, DUE, POLICY, nobody).state
    assert state.trusted_since == DUE
    assert plan(state, NAMES, DUE + 10 * MINUTE, POLICY, nobody).action is Action.SWITCH


def test_an_operators_word_stands_for_the_propagation_time() -> None:
    told = Evidence(settled=True)
    step = plan(published(), NAMES, DUE, POLICY, told)
    assert step.action is Action.SWITCH
    assert plan(step.state, NAMES, DUE, POLICY, told).action is Action.RETIRE


def test_evidence_that_flaps_starves_no_leaf() -> None:
    state = plan(due_state(), NAMES, DUE, POLICY, Evidence(bundles=[b""])).state
    now = NOON + 35 * HOUR + 20 * MINUTE
    assert plan(state, NAMES, now, POLICY, Evidence(bundles=[bundle(state)])).action is Action.ISSUE


def test_a_leaf_that_ends_with_its_authority_is_not_renewed_in_ever_shorter_steps() -> None:
    never_seen = Evidence(bundles=[bundle(minted())])
    state, actions = due_state(), []
    for minutes in range(32 * 60, 48 * 60, 5):
        step = plan(state, NAMES, NOON + minutes * MINUTE, POLICY, never_seen)
        state = step.state
        actions.append(step.action)
    assert actions.count(Action.PUBLISH) == 1
    assert actions.count(Action.ISSUE) <= 4
    assert leaf(state).certificate.not_valid_after_utc == NOON + 48 * HOUR
    end = plan(state, NAMES, NOON + 48 * HOUR + SECOND, POLICY, never_seen)
    assert end.action is Action.SWITCH


def test_a_change_that_is_asked_for_begins_at_once_and_once() -> None:
    step = plan(minted(), NAMES, NOON, POLICY, rotate=True)
    assert step.action is Action.PUBLISH
    assert plan(step.state, NAMES, NOON, POLICY, rotate=True).action is Action.KEEP
    assert plan(step.state, NAMES, NOON + 10 * MINUTE, POLICY, rotate=True).action is Action.SWITCH


# No loops, for any lifetime


@pytest.mark.parametrize("lifetime", [HOUR, 24 * HOUR, 90 * 24 * HOUR], ids=str)
def test_no_lifetime_makes_a_renewal_loop(lifetime: timedelta) -> None:
    policy = Policy(4 * lifetime, lifetime, lifetime / 12)
    state, actions, polls = State(), [], 400
    for poll in range(polls):
        step = plan(state, NAMES, NOON + poll * 8 * lifetime / polls, policy)
        state = step.state
        actions.append(step.action)
    assert actions.count(Action.MINT) == 1
    assert 2 <= actions.count(Action.SWITCH) <= 5
    assert 8 <= actions.count(Action.ISSUE) + actions.count(Action.SWITCH) <= 13
    assert actions.count(Action.RETIRE) in (actions.count(Action.SWITCH), actions.count(Action.SWITCH) - 1)


@pytest.mark.parametrize("lifetime", [HOUR, 24 * HOUR, 90 * 24 * HOUR], ids=str)
def test_looking_again_right_after_a_step_does_not_repeat_it(lifetime: timedelta) -> None:
    policy = Policy(4 * lifetime, lifetime, lifetime / 12)
    state = State()
    for poll in range(200):
        now = NOON + poll * lifetime / 24
        step = plan(state, NAMES, now, policy)
        state = step.state
        if step.action is not Action.KEEP:
            # A leaf and its authority may be due at the same moment.
            second = plan(state, NAMES, now, policy)
            assert second.action is not step.action
            assert plan(second.state, NAMES, now, policy).action is Action.KEEP


def test_a_shorter_or_longer_policy_than_the_stored_certificates_renews_once() -> None:
    for other in (Policy(30 * HOUR, 2 * HOUR, MINUTE), Policy(4800 * HOUR, 600 * HOUR, MINUTE)):
        state, actions = minted(), []
        for minutes in range(600):
            step = plan(state, NAMES, NOON + minutes * MINUTE, other)
            state = step.state
            actions.append(step.action)
        assert len([action for action in actions if action is not Action.KEEP]) <= 10


def test_what_is_announced_is_what_happens_and_not_a_second_earlier() -> None:
    state, now = minted(), NOON
    seen = set()
    for _ in range(40):
        at, action = upcoming(state, POLICY)[0]
        if at > now:
            assert plan(state, NAMES, at - SECOND, POLICY).action is Action.KEEP
        step = plan(state, NAMES, at, POLICY)
        assert step.action is action
        state, now = step.state, at
        seen.add(action)
    assert seen == {Action.ISSUE, Action.PUBLISH, Action.SWITCH, Action.RETIRE}
