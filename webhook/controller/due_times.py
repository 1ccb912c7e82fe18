"""Items with a due time each, as client-go's delaying queue keeps them."""

import heapq
from typing import Generic, TypeVar

Item = TypeVar("Item")

_SPARE = 64
"""Outdated heap entries that are kept in any case."""


class DueTimes(Generic[Item]):
    """Each item has one due time: of two, the earlier applies."""

    def __init__(self) -> None:
        self._due: dict[Item, float] = {}
        self._heap: list[tuple[float, int, Item]] = []
        """Also has outdated entries, whose time is not the one in `_due`."""
        self._sequence = 0
        """Number of the last entry: of entries with the same time, the one that was added first is popped first."""

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, item: Item) -> bool:
        return item in self._due

    def set(self, item: Item, due: float) -> None:
        if self._due.get(item, due + 1) <= due:
            return
        self._due[item] = due
        self._sequence += 1
        heapq.heappush(self._heap, (due, self._sequence, item))
        if len(self._heap) > 2 * len(self._due) + _SPARE:
            self._heap = [entry for entry in self._heap if self._due.get(entry[2]) == entry[0]]
            heapq.heapify(self._heap)

    def discard(self, item: Item) -> None:
        self._due.pop(item, None)

    def next_due(self) -> float | None:
        """The earliest due time; None if there are no items."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop(self, now: float) -> Item | None:
        """Removes and returns the item that has been due for longest; None if no item is due."""
        due = self.next_due()
        if due is None or due > now:
            return None
        item = heapq.heappop(self._heap)[2]
        del self._due[item]
        return item
