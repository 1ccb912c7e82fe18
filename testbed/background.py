"""Threads that run beside a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Self


class BackgroundThreads:
    """Runs each of `loops` in a thread while inside the `with`. Its exit sets `_stop` and joins the threads."""

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
