import itertools
from collections.abc import Mapping
from datetime import timedelta

import greenlet
import pytest

from certs import entries, pem, verify
from certs.converge import Outcome, converge
from certs.errors import StoreError
from certs.evidence import Evidence
from certs.policy import Policy
from certs.rotation import Action
from certs.state import bundle
from certs.store import Stored
from tests.certs.foreign_certificates import NOON
from tests.certs.memory_store import MemoryStore
from tests.certs.tls_clients import accepts

SERVICE = "modelfit.default.svc"
NAMES = [SERVICE]
POLICY = Policy()
DAY = timedelta(days=1)
GARBAGE = [None, b"", b"garbage"]


def look(store: MemoryStore, days: float = 0, evidence: Evidence | None = None) -> Outcome:
    return converge(store, NAMES, NOON + days * DAY, POLICY, evidence or Evidence())


def serves(store: MemoryStore, days: float = 0) -> bool:
    """Whether what is stored has no problem."""
    assert store.stored is not None
    data = store.stored.data
    now = NOON + days * DAY
    return verify.problems(data["ca.crt"], data["tls.crt"], data["tls.key"], NAMES, now) == ()


def test_an_empty_cluster_gets_certificates_and_a_later_look_writes_nothing() -> None:
    store = MemoryStore()
    assert look(store).action is Action.MINT
    assert serves(store)
    for days in (0, 1, 19.9):
        assert look(store, days).action is Action.KEEP
    assert store.writes == 1


@pytest.mark.parametrize("data", [{}, {"tls.crt": b"", "tls.key": b""}], ids=["no data", "empty entries"])
def test_an_empty_secret_is_filled_and_not_created(data: Mapping[str, bytes]) -> None:
    store = MemoryStore(data)
    outcome = look(store)
    assert (outcome.action, outcome.lost) == (Action.MINT, False)
    assert serves(store)


@pytest.mark.parametrize("value", GARBAGE, ids=["missing", "empty", "garbage"])
@pytest.mark.parametrize("entry", entries.ALL)
def test_a_half_secret_is_repaired_and_then_left_alone(entry: str, value: bytes | None) -> None:
    store = MemoryStore()
    bundle_before = bundle(look(store).state)
    store.damage(**{entry: value})
    for minutes in range(60):
        look(store, minutes / 1440, Evidence(bundles=[bundle_before]) if minutes < 1 else None)
    assert serves(store, 59 / 1440)
    writes = store.writes
    assert look(store, 1).action is Action.KEEP
    assert store.writes == writes
    assert store.stored is not None
    assert entries.parse(store.stored.data).faults == ()
    assert "ca.key" in store.stored.data


def test_a_key_of_another_leaf_is_repaired_with_the_same_authority() -> None:
    store, other = MemoryStore(), MemoryStore()
    before = look(store).state
    look(other)
    assert other.stored is not None
    store.damage(**{"tls.key": other.stored.data["tls.key"]})
    outcome = look(store)
    assert outcome.action is Action.ISSUE
    assert "belongs to another certificate" in outcome.why
    assert bundle(outcome.state) == bundle(before)
    assert serves(store)


def test_rubbish_beside_good_certificates_is_cleaned_once() -> None:
    store = MemoryStore()
    before = look(store).state
    store.damage(**{"ca.crt": bundle(before) + b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"})
    outcome = look(store)
    assert (outcome.action, outcome.state) == (Action.REPAIR, before)
    assert "1 of its certificates cannot be read" in outcome.why
    assert look(store).action is Action.KEEP


def test_a_secret_of_another_issuer_is_taken_over_without_a_gap() -> None:
    theirs = MemoryStore()
    their_state = look(theirs).state
    assert theirs.stored is not None
    handed = {name: theirs.stored.data[name] for name in ("tls.crt", "tls.key", "ca.crt")}
    store = MemoryStore(handed)
    outcome = look(store)
    assert outcome.action is Action.PUBLISH
    assert their_state.leaf is not None
    assert outcome.state.leaf == their_state.leaf
    assert accepts(bundle(outcome.state), their_state.leaf.certificate, SERVICE, NOON)


class Turns(MemoryStore):
    """The shared store; every call of it waits for its turn."""

    def read(self) -> Stored | None:
        self._wait()
        return super().read()

    def create(self, data: Mapping[str, bytes]) -> None:
        self._wait()
        super().create(data)

    def write(self, data: Mapping[str, bytes], expected_version: str) -> None:
        self._wait()
        super().write(data, expected_version)

    @staticmethod
    def _wait() -> None:
        parent = greenlet.getcurrent().parent
        assert parent is not None
        parent.switch()


CALLS = 3
"""Of one look at most: read, create or write, read the winner's."""

ORDERS = [
    order
    for order in sorted(set(itertools.permutations([0] * CALLS + [1] * CALLS + [2] * CALLS)))
    if order.index(0) < order.index(1) < order.index(2)
]
"""Every order of the calls of three; they are alike, so who is called first does not matter."""


def together(store: Turns, order: tuple[int, ...]) -> list[Outcome]:
    """Three looks whose calls reach the store in the given order."""
    outcomes: list[Outcome] = []
    looks = [greenlet.greenlet(lambda: outcomes.append(look(store))) for _ in range(3)]
    for each in looks:
        each.switch()
    for turn in order:
        if not looks[turn].dead:
            looks[turn].switch()
    assert all(each.dead for each in looks)
    return outcomes


@pytest.mark.parametrize("data", [None, {}], ids=["no Secret", "an empty Secret"])
def test_three_at_once_agree_on_one_authority_in_every_order_of_their_calls(data: Mapping[str, bytes] | None) -> None:
    assert len(ORDERS) == 280
    for order in ORDERS:
        store = Turns(data)
        outcomes = together(store, order)
        assert store.writes == 1
        assert len({bundle(outcome.state) for outcome in outcomes}) == 1
        assert [outcome.action for outcome in outcomes].count(Action.MINT) == 1
        assert serves(store)


def test_a_fourth_a_day_later_changes_nothing() -> None:
    store = Turns()
    outcomes = together(store, ORDERS[200])
    fourth = MemoryStore()
    fourth.stored = store.stored
    assert look(fourth, days=1).state == outcomes[0].state
    assert fourth.writes == 0


class Overtaken(MemoryStore):
    """Somebody else always writes between our read and our write."""

    def __init__(self, winner: Mapping[str, bytes] | None) -> None:
        super().__init__({})
        self.winner = winner

    def write(self, data: Mapping[str, bytes], expected_version: str) -> None:
        self.stored = None if self.winner is None else Stored(self.winner, "winner")
        super().write(data, expected_version)


def test_the_loser_of_a_race_reports_what_the_winner_wrote() -> None:
    winner = MemoryStore()
    won = look(winner)
    assert winner.stored is not None
    outcome = look(Overtaken(winner.stored.data))
    assert (outcome.action, outcome.lost, outcome.state) == (Action.KEEP, True, won.state)


def test_a_store_that_is_deleted_during_the_look_leaves_nothing_to_trust() -> None:
    outcome = look(Overtaken(None))
    assert outcome.lost
    assert bundle(outcome.state) == b""


def test_other_errors_of_a_store_reach_the_caller() -> None:
    class Down(MemoryStore):
        def read(self) -> Stored | None:
            raise StoreError("no route to host")

    with pytest.raises(StoreError, match="no route"):
        look(Down())


def test_a_renewer_that_starts_after_the_certificates_expired_replaces_them() -> None:
    store = MemoryStore()
    look(store)
    assert look(store, days=31).action is Action.ISSUE
    assert serves(store, days=31)
    assert look(store, days=400).action is Action.MINT
    assert serves(store, days=400)
    assert store.stored is not None
    assert len(pem.certificates(store.stored.data["ca.crt"])[0]) == 2
    assert look(store, days=400).action is Action.RETIRE
