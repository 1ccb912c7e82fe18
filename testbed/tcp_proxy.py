"""A TCP proxy in front of the API server or a webhook, whose connections a test can break."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
from types import TracebackType

from testbed.ports import free_port
from testbed.servers import LOOPBACK


class TCPProxy:
    """Listens on `port` and forwards each connection to port `to`, or to the port that `to()` returns for it.

    If `to()` raises OSError the connection is closed. `url` replaces the API server's URL.

    `freeze` drops all bytes without closing a connection: to both sides it looks like a lost route. The kernel still
    accepts new connections, which get no answer. `thaw` forwards new connections again; those that were open while
    frozen have lost bytes and stay silent. `close_connections` closes all connections.
    """

    def __init__(self, to: int | Callable[[], int]) -> None:
        self._to = to if callable(to) else lambda: to
        self.port = free_port()
        self._listener = socket.create_server((LOOPBACK, self.port), backlog=1024)
        self.url = f"https://{LOOPBACK}:{self.port}"
        self._forwarding = threading.Event()
        self._forwarding.set()
        self._closed = False
        self._pairs: set[_Pair] = set()
        self._lock = threading.Lock()
        self._acceptor = threading.Thread(target=self._accept, name="tcp proxy", daemon=True)

    def __enter__(self) -> TCPProxy:
        self._acceptor.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        self._forwarding.set()
        # Wakes the acceptor; close() alone does not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        self.close_connections()

    def freeze(self) -> None:
        self._forwarding.clear()
        with self._lock:
            for pair in self._pairs:
                pair.silent = True

    def thaw(self) -> None:
        self._forwarding.set()

    def close_connections(self) -> None:
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            pair.shut()
        for pair in pairs:
            pair.thread.join()

    def connections(self) -> int:
        """The number of open connections."""
        with self._lock:
            return len(self._pairs)

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            pair = _Pair(near, self._to, silent=not self._forwarding.is_set(), ended=self._forget)
            with self._lock:
                self._pairs.add(pair)
                pair.thread.start()

    def _forget(self, pair: _Pair) -> None:
        with self._lock:
            self._pairs.discard(pair)


class _Pair:
    """One proxied connection, with a thread that moves its bytes."""

    def __init__(
        self, near: socket.socket, to: Callable[[], int], *, silent: bool, ended: Callable[[_Pair], None]
    ) -> None:
        self.silent = silent
        self._near, self._to, self._ended = near, to, ended
        self._stop, self._stopped = socket.socketpair()
        self.thread = threading.Thread(target=self._run, name="proxied connection", daemon=True)

    def shut(self) -> None:
        try:
            self._stop.send(b"x")
        except OSError:
            # The connection has ended and closed this socket.
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
            # One side closed: both sockets are closed, so that the other side notices.
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
