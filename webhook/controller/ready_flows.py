"""The flows that have a key to serve now, in the order of their turns."""

from collections.abc import Callable

from webhook.controller.namespace_keys import Flow, FlowKind

RETRY_TURN = 4
"""If new keys and retries are ready, one of so many turns is a retry's."""


class ReadyFlows:
    """Flows of new keys take turns, and so do flows of retries. New keys come first, except for each RETRY_TURN-th
    turn."""

    def __init__(self) -> None:
        self._new: dict[Flow, None] = {}
        self._retries: dict[Flow, None] = {}
        self._turns = 0

    def add(self, flow: Flow) -> None:
        """At the end, unless it is there already."""
        self._ring(flow).setdefault(flow)

    def remove(self, flow: Flow) -> None:
        self._ring(flow).pop(flow, None)

    def next(self, may_serve: Callable[[Flow], bool]) -> Flow | None:
        """The flow whose turn it is, of those that `may_serve` accepts."""
        self._turns = self._turns + 1 if self._new and self._retries else 0
        retry_first = self._turns and self._turns % RETRY_TURN == 0
        rings = (self._retries, self._new) if retry_first else (self._new, self._retries)
        return next((flow for ring in rings for flow in ring if may_serve(flow)), None)

    @property
    def depth(self) -> int:
        """Number of keys, of a flow that backs off its trial only."""
        return sum(1 if flow.failures else len(flow.keys) for ring in (self._new, self._retries) for flow in ring)

    def oldest_seconds(self, now: float) -> float:
        """Seconds for which the oldest key has waited for a worker; 0 if there is none."""
        return max((flow.oldest_seconds(now) for ring in (self._new, self._retries) for flow in ring), default=0.0)

    def _ring(self, flow: Flow) -> dict[Flow, None]:
        return self._new if flow.kind is FlowKind.NEW else self._retries
