"""A TCP relay that passes everything on, until it passes nothing on: a way to the API server that can be cut."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
from types import TracebackType

from testbed.ports import free_port
from testbed.servers import LOOPBACK


class TCPProxy:
    """Listens on a `port` of its own and passes connections on to port `to`, or to the one that `to` gives for each;
    where that raises OSError the connection is closed. `url` is what to use for the API server's.

    `freeze()` drops all bytes from then on without closing anything: what a lost route looks like to both sides. New
    connections are accepted by the kernel and get no answer either. `thaw()` lets new connections through; the ones
    that were there while frozen have lost bytes, and stay silent. `cut()` closes all connections.
    """

    def __init__(self, to: int | Callable[[], int]) -> None:
        self._to = to if callable(to) else lambda: to
        self.port = free_port()
        self._listener = socket.create_server((LOOPBACK, self.port), backlog=1024)
        self.url = f"https://{LOOPBACK}:{self.port}"
        self._open = threading.Event()
        self._open.set()
        self._closed = False
        self._pairs: set[_Pair] = set()
        self._lock = threading.Lock()
        self._acceptor = threading.Thread(target=self._accept, name="relay", daemon=True)

    def __enter__(self) -> TCPProxy:
        self._acceptor.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        self._open.set()
        # Wakes the acceptor, which close() alone does not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        self.cut()

    def freeze(self) -> None:
        self._open.clear()
        with self._lock:
            for pair in self._pairs:
                pair.silent = True

    def thaw(self) -> None:
        self._open.set()

    def cut(self) -> None:
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            pair.shut()
        for pair in pairs:
            pair.thread.join()

    def connections(self) -> int:
        """How many connections there are now."""
        with self._lock:
            return len(self._pairs)

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            pair = _Pair(near, self._to, silent=not self._open.is_set(), ended=self._forget)
            with self._lock:
                self._pairs.add(pair)
                pair.thread.start()

    def _forget(self, pair: _Pair) -> None:
        with self._lock:
            self._pairs.discard(pair)


class _Pair:
    """One relayed connection, moved by a thread of its own."""

    def __init__(
        self, near: socket.socket, to: Callable[[], int], *, silent: bool, ended: Callable[[_Pair], None]
    ) -> None:
        self.silent = silent
        self._near, self._to, self._ended = near, to, ended
        self._stop, self._stopped = socket.socketpair()
        self.thread = threading.Thread(target=self._run, name="relayed connection", daemon=True)

    def shut(self) -> None:
        try:
            self._stop.send(b"x")
        except OSError:
            # It ended by itself and closed this socket.
            return

    def _run(self) -> None:
        try:
            with self._near, self._stopped, self._stop:
                if self.silent:
                    select.select([self._stopped], [], [])
                    return
                with socket.create_connection((LOOPBACK, self._to()), timeout=5) as far:
                    self._move(far)
        except OSError:
            # Either side went away: both sockets are closed, which is what the other side is to see.
            return
        finally:
            self._ended(self)

    def _move(self, far: socket.socket) -> None:
        other = {self._near: far, far: self._near}
        while True:
            readable, _, _ = select.select([self._near, far, self._stopped], [], [])
            if self._stopped in readable:
                return
            if self.silent:
                select.select([self._stopped], [], [])
                return
            for source in readable:
                data = source.recv(65536)
                if not data:
                    return
                other[source].sendall(data)
