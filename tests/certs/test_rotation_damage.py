"""What is lost or wrong in the store: nobody loses trust while it is mended."""

from dataclasses import replace

from certs import mint, pem
from certs.evidence import Evidence
from certs.pairs import Pair
from certs.rotation import Action, plan
from certs.state import State, bundle
from tests.certs.foreign_certificates import NOON, Shape, make
from tests.certs.rotating import (
    DUE,
    HOUR,
    MINUTE,
    NAMES,
    POLICY,
    SERVICE,
    minted,
    published,
    switched,
    trusts,
)
from tests.certs.tls_clients import accepts


def test_a_lost_key_of_the_authority_is_replaced_with_an_overlap() -> None:
    before = minted()
    lost = replace(before, current=None, retired=before.authorities())
    step = plan(lost, NAMES, NOON, POLICY)
    assert step.action is Action.PUBLISH
    assert trusts(step.state, before, 0)
    assert plan(step.state, NAMES, NOON + MINUTE, POLICY).action is Action.KEEP
    after = plan(step.state, NAMES, NOON + 10 * MINUTE, POLICY)
    assert after.action is Action.SWITCH
    assert trusts(step.state, after.state, 1)
    assert trusts(after.state, before, 1)
    assert plan(after.state, NAMES, NOON + 20 * MINUTE, POLICY).action is Action.RETIRE


def test_an_authority_without_a_key_is_not_retired_while_it_signs_the_stored_leaf() -> None:
    before = minted()
    lost = replace(before, current=None, retired=before.authorities(), switched_at=NOON - HOUR)
    state = plan(lost, NAMES, NOON, POLICY).state
    assert plan(state, NAMES, NOON + MINUTE, POLICY).action is Action.KEEP


def test_a_lost_leaf_is_signed_again_by_its_authority() -> None:
    before = minted()
    for broken in (None, Pair(make(Shape(names=NAMES)).certificate, b"")):
        step = plan(replace(before, leaf=broken), NAMES, NOON, POLICY)
        assert step.action is Action.ISSUE
        assert bundle(step.state) == bundle(before)
        assert trusts(before, step.state, 0)


def test_after_the_loss_of_everything_clients_still_trust_what_replicas_still_serve() -> None:
    before = minted()
    step = plan(State(), NAMES, NOON + HOUR, POLICY, Evidence(bundles=[b"", bundle(before)]))
    assert step.action is Action.MINT
    assert trusts(step.state, before, 1)
    assert trusts(step.state, step.state, 1)
    assert plan(step.state, NAMES, NOON + HOUR + 9 * MINUTE, POLICY).action is Action.KEEP
    assert plan(step.state, NAMES, NOON + HOUR + 10 * MINUTE, POLICY).action is Action.RETIRE


def test_a_lost_bundle_is_found_again_in_the_configurations_and_the_leaf_is_kept() -> None:
    before = minted()
    step = plan(State(leaf=before.leaf), NAMES, NOON, POLICY, Evidence(bundles=[bundle(before)]))
    assert step.action is Action.PUBLISH
    assert step.state.leaf == before.leaf
    assert trusts(step.state, before, 0)


def test_a_lost_bundle_during_a_change_is_written_again() -> None:
    before = published()
    holed = replace(before, current=None)
    seen = Evidence(bundles=[bundle(before)])
    step = plan(holed, NAMES, DUE + MINUTE, POLICY, seen)
    assert step.action is Action.REPAIR
    assert trusts(step.state, before, 33)


def test_a_configuration_full_of_the_worlds_authorities_is_not_taken_over() -> None:
    world = pem.text(tuple(mint.authority(NOON, HOUR).certificate for _ in range(30)))
    step = plan(State(), NAMES, NOON, POLICY, Evidence(bundles=[world]))
    assert len(step.state.retired) == 8


def test_an_expired_authority_in_a_configuration_is_not_taken_over() -> None:
    old = bundle(minted())
    assert plan(State(), NAMES, NOON + 100 * HOUR, POLICY, Evidence(bundles=[old])).state.retired == ()


def test_a_strangers_leaf_in_the_store_is_replaced_by_one_of_the_current_authority() -> None:
    state = minted()
    stranger = mint.authority(NOON, POLICY.authority_lifetime)
    theirs = mint.leaf(stranger, NAMES, NOON, POLICY.leaf_lifetime)
    mixed = replace(state, leaf=theirs, retired=(stranger.certificate,))
    assert plan(mixed, NAMES, NOON, POLICY, Evidence(bundles=[pem.text((stranger.certificate,))])).action is Action.KEEP
    step = plan(mixed, NAMES, NOON, POLICY, Evidence(bundles=[bundle(mixed)]))
    assert (step.action, step.state.switched_at) == (Action.ISSUE, NOON)
    assert trusts(state, step.state, 0)
    assert accepts(bundle(step.state), theirs.certificate, SERVICE, NOON)


def test_a_time_that_is_not_known_makes_the_wait_begin_now() -> None:
    state = replace(switched(), switched_at=None)
    step = plan(state, NAMES, DUE + HOUR, POLICY)
    assert (step.action, step.state.switched_at) == (Action.WAIT, DUE + HOUR)
    unseen = replace(published(), trusted_since=None)
    step = plan(unseen, NAMES, DUE, POLICY)
    assert (step.action, step.state.trusted_since) == (Action.WAIT, DUE)


def test_a_time_that_a_wrong_clock_wrote_far_ahead_is_not_waited_for() -> None:
    state = replace(switched(), switched_at=DUE + 1000 * HOUR)
    step = plan(state, NAMES, DUE + HOUR, POLICY)
    assert (step.action, step.state.switched_at) == (Action.WAIT, DUE + HOUR)


def test_certificates_from_a_clock_far_ahead_are_replaced() -> None:
    ahead = plan(State(), NAMES, NOON + 1000 * HOUR, POLICY).state
    step = plan(ahead, NAMES, NOON, POLICY)
    assert step.action is Action.MINT
    assert trusts(step.state, step.state, 0)


def test_a_successor_that_expired_before_it_signed_is_replaced() -> None:
    state = published()
    old = make(Shape(subject="late", ca=True, end=NOON))
    step = plan(replace(state, next=old), NAMES, DUE, POLICY)
    assert step.action is Action.PUBLISH
    assert old.certificate not in step.state.authorities()
