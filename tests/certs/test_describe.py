from datetime import timedelta

from certs.describe import describe
from certs.evidence import Evidence
from certs.policy import Policy
from certs.rotation import plan
from certs.state import State, bundle
from tests.certs.foreign_certificates import NOON

POLICY = Policy()
NAMES = ["modelfit.default.svc", "10.0.0.1"]
MINTED = plan(State(), NAMES, NOON, POLICY).state


def lines(state: State, days: float = 0) -> str:
    return "\n".join(describe(state, NOON + timedelta(days=days), POLICY))


def test_a_usual_state_says_what_is_served_who_is_trusted_and_what_comes_next() -> None:
    text = lines(MINTED)
    assert "leaf: CN=modelfit.default.svc, valid until 2026-03-31T12:00:00Z, 30 days, 0:00:00 from now" in text
    assert "for 10.0.0.1, modelfit.default.svc" in text
    assert text.count("authority (current): CN=modelfit CA ") == 1
    assert "no problem" in text
    assert "issue: at 2026-03-21T12:00:00Z" in text
    assert "publish: at 2026-10-30T20:00:00Z" in text


def test_a_change_that_is_under_way_shows_both_authorities_and_the_moment_of_the_switch() -> None:
    published = plan(MINTED, NAMES, NOON, POLICY, rotate=True).state
    assert "authority (next)" in lines(published)
    assert "switch: at 2026-03-01T12:10:00Z" in lines(published)
    switched = plan(published, NAMES, NOON + POLICY.propagation, POLICY).state
    assert "authority (retired)" in lines(switched)
    assert "retire: at 2026-03-01T12:20:00Z" in lines(switched)


def test_a_switch_that_waits_for_clients_says_so() -> None:
    unseen = Evidence(bundles=[bundle(MINTED)])
    text = lines(plan(MINTED, NAMES, NOON, POLICY, unseen, rotate=True).state)
    assert "switch: once every client is seen to trust the next authority" in text


def test_what_is_wrong_is_said() -> None:
    assert "problem: there is no leaf to serve" in lines(State())
    assert "authority: none" in lines(State())
    text = lines(MINTED, days=31)
    assert "expired at 2026-03-31T12:00:00Z" in text
    assert "problem: certificate 'CN=modelfit.default.svc': expired" in text
    assert "issue: due" in text
    assert "not valid before" in lines(MINTED, days=-1)


def test_no_private_key_is_shown() -> None:
    assert "PRIVATE" not in lines(MINTED)
