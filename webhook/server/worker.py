"""A gunicorn worker whose connections cost a greenlet each, so that peers that say nothing hold up nobody.

What gunicorn's own gevent worker lacks, and this one has: limits on the handshake, the request and the farewell; the
certificate of the moment for each connection; and a stop that loses nothing: not ready first, still answering while the
API servers learn of it, each answer ending its connection, and at last the end of the connections that stayed idle.

Nothing is monkey-patched: what waits, waits on gevent's own sockets, and nothing else in the process waits at all. So
the application can be loaded before the fork, once for all workers.
"""

import logging
import os
import select
import signal
import sys
import time
from collections.abc import Collection
from functools import partial
from types import FrameType, TracebackType
from typing import Any

import gevent
from gevent.hub import get_hub, reinit
from gevent.pool import Pool
from gevent.server import StreamServer
from gevent.socket import SOCK_STREAM
from gevent.socket import socket as Socket  # noqa: N812
from gunicorn.workers.base import Worker as BaseWorker

from webhook.observe import admission_metrics
from webhook.server import limits
from webhook.server.connection import Connection

_log = logging.getLogger("modelfit.server")

_TICK = 0.1
"""Seconds between two looks at signals, files and the parent."""


class Worker(BaseWorker):  # type: ignore[misc]
    """One worker process."""

    alive: bool
    ppid: int
    sockets: list[Any]

    def init_process(self) -> None:
        """Turns the listening sockets into gevent's, and leaves the rest of the process as it is."""
        self.sockets = [Socket(each.FAMILY, SOCK_STREAM, fileno=each.sock.detach()) for each in self.sockets]
        # What the parent's event loop knew is nothing to this process.
        reinit()
        super().init_process()

    def notify(self) -> None:
        """Tells the parent that this worker lives, and ends with it."""
        super().notify()
        if self.ppid != os.getppid():
            sys.exit(0)

    def run(self) -> None:
        """Serves until it is told to stop and has drained."""
        self._drained_at = 0.0
        # gunicorn looks its settings up by name, a dozen for each request: as attributes they are found at once.
        self.cfg.__dict__.update({name: setting.get() for name, setting in self.cfg.settings.items()})
        hub: Any = get_hub()
        hub.print_exception = _hub_error
        self._open: set[Connection] = set()
        self._limit: int = self.cfg.worker_connections
        self._pool = Pool(self._limit)
        servers = [self._listen(each) for each in self.sockets]
        signal.pthread_sigmask(signal.SIG_UNBLOCK, limits.STOP_SIGNALS)
        while self.alive or time.monotonic() < self._drained_at:
            self.notify()
            self.app.certificate.context()
            self._end_late()
            gevent.sleep(_TICK)
        self._finish(servers)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM: not ready from now on, stopped after the drain time."""
        self._stop_in(self.app.drain_seconds)

    def handle_quit(self, sig: int, frame: FrameType | None) -> None:
        """SIGINT, SIGQUIT: the same, at once."""
        self._stop_in(0.0)

    def _stop_in(self, seconds: float) -> None:
        ends_at = time.monotonic() + seconds
        self._drained_at = ends_at if self.alive else min(ends_at, self._drained_at)
        self.alive = False
        self.app.readiness.draining = True

    def _listen(self, listener: Socket) -> StreamServer:
        server = StreamServer(listener, handle=partial(self._connected, listener.getsockname()), spawn=self._pool)
        if self.cfg.workers > 1:
            # Leaves the others something to accept.
            server.max_accept = 1
        server.start()
        return server

    def _connected(self, server: tuple[str, int], client: Socket, peer: tuple[str, int]) -> None:
        """A connection's whole life."""
        connection = Connection(client, peer, server, self.cfg)
        self._open.add(connection)
        try:
            if connection.secure(self.app.certificate.context()):
                self._converse(connection)
        except Exception:
            _log.exception("a connection failed")
        finally:
            self._open.discard(connection)
            connection.close()

    def _converse(self, connection: Connection) -> None:
        while True:
            request = connection.next_request()
            if request is None:
                return
            if not self.alive or connection.is_old:
                request.force_close()
            if not connection.answer(request, self.wsgi):
                return

    def _end_late(self) -> None:
        """Ends what takes too long. Where something has arrived on an idle connection, it is not idle any more."""
        is_crowded = self._pool.free_count() * 4 < self._limit
        idle = limits.CROWDED_SECONDS if is_crowded else float(self.cfg.keepalive)
        late = [each for each in self._open if each.is_late(idle)]
        for connection in {*late} - {*_heard([each for each in late if each.is_idle])}:
            get_hub().loop.run_callback(connection.expire, idle)

    def _finish(self, servers: list[StreamServer]) -> None:
        """Ends what is left: the idle at once, the others after their answer."""
        for server in servers:
            server.close()
        closed_at = time.monotonic()
        while self._open and time.monotonic() < closed_at + limits.REQUEST_SECONDS:
            self.notify()
            self._end_late()
            has_waited = time.monotonic() > closed_at + 1
            waiting = {each for each in self._open if each.is_idle or (has_waited and not each.is_secured)}
            for connection in waiting - {*_heard(waiting)}:
                connection.end()
            gevent.sleep(0.02)


def _heard(connections: Collection[Connection]) -> list[Connection]:
    """Those on which something has arrived that has not been read yet."""
    by_descriptor = {each.fileno(): each for each in connections}
    poll = select.poll()
    for descriptor in by_descriptor:
        # Negative once it is closed.
        if descriptor >= 0:
            poll.register(descriptor, select.POLLIN)
    return [by_descriptor[descriptor] for descriptor, _ in poll.poll(0)]


def _hub_error(context: object, kind: type[BaseException], error: BaseException, stack: TracebackType | None) -> None:
    """What went wrong outside a connection: out of file descriptors, above all. gevent waits and tries again."""
    admission_metrics.broken_connection("accept")
    _log.error("could not accept a connection", extra={"fields": {"cause": kind.__name__}})
