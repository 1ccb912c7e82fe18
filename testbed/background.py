"""What goes on beside a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Self


class BackgroundThreads:
    """A thread for each of `loops`, from the beginning of a `with` block to its end, which is when `_stop` is set; the
    end waits for them."""

    def __init__(self, loops: Iterable[Callable[[], None]]) -> None:
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=loop, daemon=True) for loop in loops]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
