"""Repairs of a damaged state: clients keep trusting what replicas serve."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from certs import issuing, pem, secret_data
from certs.pem import KeyPair
from certs.rotation import Action, next_step
from certs.secret_data import State
from tests.certs.foreign_certificates import CA, NOON, Shape, make
from tests.certs.rotation_states import (
    CONFIG,
    DUE,
    HOUR,
    MINUTE,
    NAMES,
    SERVICE,
    minted,
    plan,
    published,
    switched,
    trusts,
)
from tests.certs.tls_clients import accepts


def test_a_lost_ca_key_is_replaced_with_an_overlap() -> None:
    before = minted()
    step = plan(replace(before, current=None, retired=before.cas), NOON)
    assert step.action is Action.PUBLISH
    assert trusts(step.state, before, 0)
    assert plan(step.state, NOON + MINUTE).action is Action.KEEP
    after = plan(step.state, NOON + 10 * MINUTE)
    assert after.action is Action.SWITCH
    assert trusts(step.state, after.state, 1)
    assert trusts(after.state, before, 1)
    assert plan(after.state, NOON + 20 * MINUTE).action is Action.RETIRE


def test_a_ca_without_a_key_is_not_retired_while_its_leaf_is_stored() -> None:
    before = minted()
    state = plan(replace(before, current=None, retired=before.cas, switched_at=NOON - HOUR), NOON).state
    assert plan(state, NOON + MINUTE).action is Action.KEEP


@pytest.mark.parametrize("leaf", [None, KeyPair(make(Shape(names=NAMES)).certificate, b"")], ids=["missing", "foreign"])
def test_an_unusable_leaf_is_issued_again_by_its_ca(leaf: KeyPair | None) -> None:
    before = minted()
    step = plan(replace(before, leaf=leaf), NOON)
    assert step.action is Action.ISSUE
    assert step.state.bundle == before.bundle
    assert trusts(before, step.state, 0)


def test_after_the_loss_of_everything_clients_still_trust_what_replicas_serve() -> None:
    before = minted()
    step = plan(State(), NOON + HOUR, [b"", before.bundle])
    assert step.action is Action.MINT
    assert trusts(step.state, before, 1)
    assert trusts(step.state, step.state, 1)
    assert plan(step.state, NOON + HOUR + 9 * MINUTE).action is Action.KEEP
    assert plan(step.state, NOON + HOUR + 10 * MINUTE).action is Action.RETIRE


def test_a_lost_bundle_is_restored_from_the_ca_bundles_and_the_leaf_is_kept() -> None:
    before = minted()
    step = plan(State(leaf=before.leaf), NOON, [before.bundle])
    assert step.action is Action.PUBLISH
    assert step.state.leaf == before.leaf
    assert trusts(step.state, before, 0)


def test_a_ca_lost_during_a_rotation_is_restored_from_the_ca_bundles() -> None:
    before = published()
    step = plan(replace(before, current=None), DUE + MINUTE, [before.bundle])
    assert step.action is Action.REPAIR
    assert trusts(step.state, before, 33)


def test_at_most_eight_cas_are_adopted_from_the_ca_bundles() -> None:
    cas = pem.dump_certificates(tuple(issuing.issue_ca(NOON, HOUR).certificate for _ in range(30)))
    assert len(plan(State(), NOON, [cas]).state.retired) == 8


def test_an_expired_ca_is_not_adopted_from_the_ca_bundles() -> None:
    assert plan(State(), NOON + 100 * HOUR, [minted().bundle]).state.retired == ()


def test_a_foreign_leaf_is_replaced_once_clients_trust_the_current_ca() -> None:
    state = minted()
    foreign = issuing.issue_ca(NOON, CONFIG.ca_lifetime)
    leaf = issuing.issue_leaf(foreign, NAMES, NOON, CONFIG.leaf_lifetime)
    mixed = replace(state, leaf=leaf, retired=(foreign.certificate,))
    assert plan(mixed, NOON, [pem.dump_certificates((foreign.certificate,))]).action is Action.KEEP
    step = plan(mixed, NOON, [mixed.bundle])
    assert (step.action, step.state.switched_at) == (Action.ISSUE, NOON)
    assert trusts(state, step.state, 0)
    assert accepts(step.state.bundle, leaf.certificate, SERVICE, NOON)


@pytest.mark.parametrize("since", [None, DUE + 1000 * HOUR], ids=["unknown", "far in the future"])
def test_a_missing_or_wrong_timestamp_begins_the_propagation_time_again(since: datetime | None) -> None:
    step = plan(replace(switched(), switched_at=since), DUE + HOUR)
    assert (step.action, step.state.switched_at) == (Action.WAIT, DUE + HOUR)
    step = plan(replace(published(), trusted_since=since), DUE)
    assert (step.action, step.state.trusted_since) == (Action.WAIT, DUE)


def test_certificates_from_a_clock_far_ahead_are_replaced() -> None:
    step = plan(plan(State(), NOON + 1000 * HOUR).state, NOON)
    assert step.action is Action.MINT
    assert trusts(step.state, step.state, 0)


def test_a_next_ca_that_expired_before_it_signed_is_replaced() -> None:
    old = make(Shape(subject="late", ca=True, end=NOON))
    step = plan(replace(published(), next=old), DUE)
    assert step.action is Action.PUBLISH
    assert old.certificate not in step.state.cas


UNUSABLE_CAS: dict[str, Callable[[], KeyPair]] = {
    "secp256k1": lambda: make(CA, key=ec.generate_private_key(ec.SECP256K1())),
    "weak RSA": lambda: make(CA, key=rsa.generate_private_key(65537, 1024)),  # noqa: S505
    "constrained to other names": lambda: make(
        Shape("ca", ca=True, critical=x509.NameConstraints([x509.DNSName("example.com")], None))
    ),
}


@pytest.mark.parametrize("make_ca", UNUSABLE_CAS.values(), ids=UNUSABLE_CAS.keys())
def test_a_foreign_ca_whose_leaves_are_not_accepted_is_replaced_without_a_loop(make_ca: Callable[[], KeyPair]) -> None:
    foreign = make_ca()
    data = {"ca.crt": pem.dump_certificates((foreign.certificate,)), "ca.key": foreign.key}
    step = next_step(data, NAMES, NOON, CONFIG)
    assert step.action is Action.MINT
    assert step.state.retired == (foreign.certificate,)
    assert trusts(step.state, step.state, 0)
    assert next_step(secret_data.dump(step.state), NAMES, NOON, CONFIG).action is Action.KEEP
