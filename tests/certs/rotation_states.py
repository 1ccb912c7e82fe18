"""The states of a rotation, each one step after the one before."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache

from certs import issuing, rotation
from certs.pem import KeyPair
from certs.rotation import Action, Step
from certs.rotation_config import RotationConfig
from certs.secret_data import State
from tests.certs.foreign_certificates import NOON
from tests.certs.tls_clients import accepts

SERVICE = "modelfit.default.svc"
NAMES = [SERVICE]
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
CONFIG = RotationConfig(ca_lifetime=48 * HOUR, leaf_lifetime=6 * HOUR, propagation=10 * MINUTE)
DUE = NOON + 32 * HOUR
"""When the CA that is minted at noon is due for renewal."""


def plan(state: State, now: datetime, ca_bundles: Sequence[bytes] | None = None) -> Step:
    return rotation.plan(state, NAMES, now, CONFIG, ca_bundles)


@cache
def minted() -> State:
    """An empty Secret after its first step, at noon."""
    return plan(State(), NOON).state


def with_new_leaf(state: State, hours: float) -> State:
    """The state with a leaf that was renewed so many hours after noon."""
    assert state.current is not None
    return replace(state, leaf=issuing.issue_leaf(state.current, NAMES, NOON + hours * HOUR, CONFIG.leaf_lifetime))


@cache
def due() -> State:
    """The CA is due, its leaf is not."""
    return with_new_leaf(minted(), 31)


@cache
def published() -> State:
    """The next CA is in the bundle; the caBundles are not known."""
    step = plan(due(), DUE)
    assert step.action is Action.PUBLISH
    return step.state


@cache
def switched() -> State:
    """The next CA signs, the old one is retired."""
    step = plan(published(), DUE + 10 * MINUTE)
    assert step.action is Action.SWITCH
    return step.state


def leaf(state: State) -> KeyPair:
    assert state.leaf is not None
    return state.leaf


def trusts(client: State, server: State, hours: float) -> bool:
    """Whether a client with the bundle of one state accepts the leaf of another, so many hours after noon."""
    return accepts(client.bundle, leaf(server).certificate, SERVICE, NOON + hours * HOUR)
