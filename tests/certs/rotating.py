"""States on the way of a rotation, each a step after the one before."""

from dataclasses import replace
from datetime import timedelta
from functools import cache

from cryptography.hazmat.primitives import serialization

from certs import mint
from certs.pairs import Pair
from certs.policy import Policy
from certs.rotation import Action, plan
from certs.state import State, bundle
from tests.certs.foreign_certificates import NOON
from tests.certs.tls_clients import accepts

SERVICE = "modelfit.default.svc"
NAMES = [SERVICE]
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
POLICY = Policy(authority_lifetime=48 * HOUR, leaf_lifetime=6 * HOUR, propagation=10 * MINUTE)
DUE = NOON + 32 * HOUR


@cache
def minted() -> State:
    """What an empty store gets at noon. The same for all tests: nothing changes a state."""
    return plan(State(), NAMES, NOON, POLICY).state


def fresh_leaf(state: State, hours: float) -> State:
    """The state with a leaf that was renewed so many hours after noon."""
    assert state.current is not None
    return replace(state, leaf=mint.leaf(state.current, NAMES, NOON + hours * HOUR, POLICY.leaf_lifetime))


@cache
def due_state() -> State:
    """An authority that is due, with a leaf that is not."""
    return fresh_leaf(minted(), 31)


@cache
def published() -> State:
    """Its successor is in the bundle, as far as can be known without a look at the configurations."""
    step = plan(due_state(), NAMES, DUE, POLICY)
    assert step.action is Action.PUBLISH
    return step.state


@cache
def switched() -> State:
    """The successor signs, the old one is retired."""
    step = plan(published(), NAMES, DUE + 10 * MINUTE, POLICY)
    assert step.action is Action.SWITCH
    return step.state


def leaf(state: State) -> Pair:
    assert state.leaf is not None
    return state.leaf


def der(pair: Pair) -> bytes:
    return pair.certificate.public_bytes(serialization.Encoding.DER)


def trusts(holder: State, server: State, hours: float) -> bool:
    """Whether a client with one state's bundle accepts another state's leaf."""
    return accepts(bundle(holder), leaf(server).certificate, SERVICE, NOON + hours * HOUR)
