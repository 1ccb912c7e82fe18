"""The open connections of a worker, and which of them to close so that others can be accepted.

A peer that opens connections and never completes a handshake must not keep the API server out. Close, in this order:

    1. an unfinished handshake: the oldest of the peer address that has the most
    2. an idle connection that has never carried a review: the one idle longest
    3. an idle connection: the one idle longest, of the peer address that has the most connections

The API server's connections are thus the last to go. Connections with a request in progress are never closed.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar


class Evictable(Protocol):
    """A connection as this module uses it."""

    @property
    def peer_address(self) -> str: ...

    @property
    def is_idle(self) -> bool: ...

    @property
    def has_served_review(self) -> bool: ...

    @property
    def phase_started_at(self) -> float: ...


C = TypeVar("C", bound=Evictable)


class ConnectionTable(Generic[C]):
    """Connections by state. `max_connections` is what the worker can hold."""

    def __init__(self, max_connections: int) -> None:
        self._capacity = max_connections - max(1, max_connections // 32)
        """Above this, `find_evictable` returns a connection. The rest is for connections that are closing."""
        self._max_handshakes_per_address = max(1, max_connections // 4)
        self._connections: dict[C, None] = {}
        self._handshakes: dict[str, dict[C, None]] = {}
        """Unfinished handshakes by peer address, oldest first."""

    def __iter__(self) -> Iterator[C]:
        return iter(list(self._connections))

    def __len__(self) -> int:
        return len(self._connections)

    def add(self, connection: C) -> None:
        """Adds an accepted connection. Its handshake is unfinished."""
        self._connections[connection] = None
        self._handshakes.setdefault(connection.peer_address, {})[connection] = None

    def finish_handshake(self, connection: C) -> None:
        """Marks the connection's handshake as complete."""
        handshakes = self._handshakes.get(connection.peer_address, {})
        handshakes.pop(connection, None)
        if not handshakes:
            self._handshakes.pop(connection.peer_address, None)

    def discard(self, connection: C) -> None:
        """Removes a connection that is closed or about to be."""
        self._connections.pop(connection, None)
        self.finish_handshake(connection)

    def find_evictable(self, newest: C) -> C | None:
        """The connection to close after `newest` was accepted; None if there is room, or all have a request in
        progress."""
        own = self._handshakes.get(newest.peer_address, {})
        if len(own) > self._max_handshakes_per_address:
            return next(iter(own))
        if len(self._connections) <= self._capacity:
            return None
        if self._handshakes:
            most = max(self._handshakes.values(), key=len)
            oldest = next(iter(most))
            if oldest is not newest:
                return oldest
        idle = [each for each in self._connections if each.is_idle]
        unused = [each for each in idle if not each.has_served_review]
        if not unused and idle:
            per_address = Counter(each.peer_address for each in self._connections)
            address = max((each.peer_address for each in idle), key=lambda each: per_address[each])
            unused = [each for each in idle if each.peer_address == address]
        return min(unused, key=lambda each: each.phase_started_at, default=None)
