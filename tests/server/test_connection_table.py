"""Which connection is closed when there are too many."""

from dataclasses import dataclass

from webhook.server.connection_table import ConnectionTable

MAX_CONNECTIONS = 32
CAPACITY = 31


@dataclass(eq=False)
class Peer:
    peer_address: str = "10.0.0.1"
    is_idle: bool = False
    has_served_review: bool = False
    phase_started_at: float = 0.0


def fill(table: ConnectionTable[Peer], *peers: Peer) -> None:
    """Adds connections with complete handshakes."""
    for peer in peers:
        table.add(peer)
        table.finish_handshake(peer)


def evict_for(table: ConnectionTable[Peer], newest: Peer) -> Peer | None:
    table.add(newest)
    return table.find_evictable(newest)


def test_nothing_is_closed_while_there_is_room() -> None:
    table: ConnectionTable[Peer] = ConnectionTable(MAX_CONNECTIONS)
    fill(table, *(Peer(is_idle=True) for _ in range(CAPACITY - 1)))
    assert evict_for(table, Peer()) is None


def test_the_oldest_handshake_of_the_address_with_the_most_is_closed_first() -> None:
    table: ConnectionTable[Peer] = ConnectionTable(MAX_CONNECTIONS)
    fill(table, *(Peer(is_idle=True) for _ in range(CAPACITY - 5)))
    slow = Peer("10.0.0.2")
    flood = [Peer("10.0.0.3") for _ in range(4)]
    for peer in (slow, *flood):
        table.add(peer)
    assert evict_for(table, Peer()) is flood[0]
    table.discard(flood[0])
    assert evict_for(table, Peer()) is flood[1]


def test_the_handshakes_of_one_address_are_limited() -> None:
    table: ConnectionTable[Peer] = ConnectionTable(MAX_CONNECTIONS)
    flood = [Peer("10.0.0.3") for _ in range(MAX_CONNECTIONS // 4)]
    assert [evict_for(table, peer) for peer in flood] == [None] * len(flood)
    assert evict_for(table, Peer("10.0.0.3")) is flood[0]
    assert evict_for(table, Peer("10.0.0.4")) is None


def test_a_finished_handshake_does_not_count() -> None:
    table: ConnectionTable[Peer] = ConnectionTable(MAX_CONNECTIONS)
    fill(table, *(Peer("10.0.0.3") for _ in range(MAX_CONNECTIONS // 2)))
    assert evict_for(table, Peer("10.0.0.3")) is None


def test_idle_connections_without_a_review_are_closed_before_those_with_one() -> None:
    table: ConnectionTable[Peer] = ConnectionTable(MAX_CONNECTIONS)
    unused = [Peer("10.0.0.2", is_idle=True, phase_started_at=at) for at in (9.0, 8.0)]
    served = [Peer(is_idle=True, has_served_review=True, phase_started_at=1.0) for _ in range(CAPACITY - 3)]
    fill(table, Peer("10.0.0.2"), *unused, *served)
    assert evict_for(table, Peer()) is unused[1]


def test_of_idle_connections_with_a_review_the_address_with_the_most_loses_one() -> None:
    table: ConnectionTable[Peer] = ConnectionTable(MAX_CONNECTIONS)
    api_server = Peer("10.0.0.2", is_idle=True, has_served_review=True, phase_started_at=1.0)
    flood = [Peer(is_idle=True, has_served_review=True, phase_started_at=2.0 + at) for at in range(CAPACITY - 1)]
    fill(table, api_server, *flood)
    assert evict_for(table, Peer(phase_started_at=100.0)) is flood[0]


def test_a_stalled_request_is_closed_before_idle_connections_that_carried_a_review() -> None:
    table: ConnectionTable[Peer] = ConnectionTable(MAX_CONNECTIONS)
    api_server = Peer("10.0.0.2", is_idle=True, has_served_review=True, phase_started_at=1.0)
    stalled = [Peer(phase_started_at=3.0 + at) for at in range(CAPACITY - 1)]
    fill(table, api_server, *stalled)
    assert evict_for(table, Peer(phase_started_at=100.0)) is stalled[0]


def test_a_stalled_request_after_a_review_counts_like_an_idle_connection() -> None:
    table: ConnectionTable[Peer] = ConnectionTable(MAX_CONNECTIONS)
    api_server = Peer("10.0.0.2", is_idle=True, has_served_review=True, phase_started_at=1.0)
    stalled = [Peer(has_served_review=True, phase_started_at=3.0 + at) for at in range(CAPACITY - 1)]
    fill(table, api_server, *stalled)
    assert evict_for(table, Peer(phase_started_at=100.0)) is stalled[0]


def test_an_idle_connection_that_carried_a_review_waits_for_requests_to_stall() -> None:
    for has_served_review in (False, True):
        table: ConnectionTable[Peer] = ConnectionTable(MAX_CONNECTIONS)
        api_server = Peer("10.0.0.2", is_idle=True, has_served_review=True)
        flood = [Peer(has_served_review=has_served_review, phase_started_at=5.0) for _ in range(CAPACITY - 1)]
        fill(table, api_server, *flood)
        newest = Peer("10.0.0.2", phase_started_at=5.5)
        assert evict_for(table, newest) is None
        assert table.find_surplus(9.9) is None
        assert table.find_surplus(10.1) is flood[0]
        table.discard(flood[0])
        assert table.find_surplus(10.1) is None


def test_a_request_in_its_first_seconds_is_not_closed() -> None:
    table: ConnectionTable[Peer] = ConnectionTable(MAX_CONNECTIONS)
    fill(table, *(Peer() for _ in range(CAPACITY)))
    assert evict_for(table, Peer("10.0.0.2", phase_started_at=1.0)) is None
