"""The open connections of a worker, and which of them to close so that others can be accepted.

A peer that opens connections and never completes a handshake or a request must not keep the API server out. Close, in
this order:

    1. a stalled request on a connection that has never carried a review: the one stalled longest
    2. an unfinished handshake: the oldest of the peer address that has the most
    3. an idle connection that has never carried a review: the one idle longest
    4. a connection that has carried a review and was idle or stalled for long: the longest, of the peer address that
       has the most

The API server's connections are thus the last to go. Before limits.STALLED_SECONDS, a request is not stalled and a
connection that carried a review is not closed: an API server would not send the lost request again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from webhook.server import limits


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
        progress that is not stalled."""
        own = self._handshakes.get(newest.peer_address, {})
        if len(own) > self._max_handshakes_per_address:
            return next(iter(own))
        if len(self._connections) <= self._capacity:
            return None
        stalled = self._find_stalled(newest.phase_started_at)
        if stalled is not None:
            return stalled
        if self._handshakes:
            most = max(self._handshakes.values(), key=len)
            oldest = next(iter(most))
            if oldest is not newest:
                return oldest
        return self._find_waiting(newest.phase_started_at)

    def find_surplus(self, now: float) -> C | None:
        """The connection to close at the time `now` because there are too many, handshakes apart; else None. Without
        it, requests that were not stalled when they were accepted would fill the worker until they time out."""
        if len(self._connections) <= self._capacity:
            return None
        return self._find_stalled(now) or self._find_waiting(now)

    def _find_stalled(self, now: float) -> C | None:
        return _longest(each for each in self._complete() if not each.has_served_review and _is_stalled(each, now))

    def _find_waiting(self, now: float) -> C | None:
        complete = self._complete()
        unused = [each for each in complete if not each.has_served_review]
        if unused or not complete:
            return _longest(each for each in unused if each.is_idle)
        per_address = Counter(each.peer_address for each in complete)
        address = max(per_address, key=lambda each: per_address[each])
        own = [each for each in complete if each.peer_address == address]
        return _longest(each for each in own if now - each.phase_started_at > limits.STALLED_SECONDS)

    def _complete(self) -> list[C]:
        """The connections with a complete handshake."""
        handshakes = {each for group in self._handshakes.values() for each in group}
        return [each for each in self._connections if each not in handshakes]


def _is_stalled(connection: Evictable, now: float) -> bool:
    return not connection.is_idle and now - connection.phase_started_at > limits.STALLED_SECONDS


def _longest(connections: Iterable[C]) -> C | None:
    return min(connections, key=lambda each: each.phase_started_at, default=None)
