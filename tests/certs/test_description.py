from datetime import timedelta

from certs.description import describe
from certs.rotation import plan
from certs.rotation_config import RotationConfig
from certs.secret_data import State
from tests.certs.foreign_certificates import NOON

CONFIG = RotationConfig()
NAMES = ["modelfit.default.svc", "10.0.0.1"]
MINTED = plan(State(), NAMES, NOON, CONFIG).state
DUE = 250
"""Days after which the CA is due for renewal, and the leaf too."""


def text(state: State, days: float = 0) -> str:
    return "\n".join(describe(state, NOON + timedelta(days=days), CONFIG))


def rotate(*ca_bundles: bytes) -> State:
    """The state after the leaf is renewed and the next CA is published."""
    now = NOON + timedelta(days=DUE)
    renewed = plan(MINTED, NAMES, now, CONFIG).state
    return plan(renewed, NAMES, now, CONFIG, ca_bundles or None).state


def test_a_usual_state_shows_the_leaf_the_ca_and_what_is_due_next() -> None:
    lines = text(MINTED)
    assert "leaf: CN=modelfit.default.svc, valid until 2026-03-31T12:00:00Z, 30 days, 0:00:00 from now" in lines
    assert "for 10.0.0.1, modelfit.default.svc" in lines
    assert lines.count("CA (current): CN=modelfit CA ") == 1
    assert "no problem" in lines
    assert "issue: at 2026-03-21T12:00:00Z" in lines
    assert "publish: at 2026-10-30T20:00:00Z" in lines
    assert "PRIVATE" not in lines


def test_a_rotation_shows_both_cas_and_when_it_continues() -> None:
    published = rotate()
    assert "CA (next)" in text(published, DUE)
    assert "switch: at 2026-11-06T12:10:00Z" in text(published, DUE)
    switched = plan(published, NAMES, NOON + timedelta(days=DUE) + CONFIG.propagation, CONFIG).state
    assert "CA (retired)" in text(switched, DUE)
    assert "retire: at 2026-11-06T12:20:00Z" in text(switched, DUE)


def test_a_switch_that_waits_for_ca_bundles_is_shown() -> None:
    assert "switch: once every caBundle has the next CA" in text(rotate(MINTED.bundle), DUE)


def test_problems_are_shown() -> None:
    assert "problem: there is no leaf to serve" in text(State())
    assert "CA: none" in text(State())
    lines = text(MINTED, days=31)
    assert "expired at 2026-03-31T12:00:00Z" in lines
    assert "problem: certificate 'CN=modelfit.default.svc': expired" in lines
    assert "issue: due" in lines
    assert "not valid before" in text(MINTED, days=-1)
