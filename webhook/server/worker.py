"""A gunicorn worker with one greenlet for each connection, so that silent peers do not delay others.

Unlike gunicorn's own gevent worker, it has time limits for the handshake, the request, the response and the close,
and it drains on SIGTERM without losing a request: first /readyz fails while requests are still served until the API
servers have noticed, then each response closes its connection, at last idle connections are closed.
docs/adr/0009-own-gevent-worker.md lists the tests that gunicorn's worker fails.

Nothing is monkey-patched. Only gevent's own sockets wait, so the application can be loaded before the fork, once for
all workers.
"""

import logging
import math
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

_POLL_SECONDS = 0.1
"""Interval of the checks for signals, time limits, changed certificate files and the parent process."""

_SHUTDOWN_POLL_SECONDS = 0.02


class Worker(BaseWorker):  # type: ignore[misc]
    """A worker process."""

    alive: bool
    ppid: int
    sockets: list[Any]

    def init_process(self) -> None:
        """Replaces the listening sockets by gevent's."""
        self.sockets = [Socket(each.FAMILY, SOCK_STREAM, fileno=each.sock.detach()) for each in self.sockets]
        # The event loop inherited from the parent is not usable after the fork.
        reinit()
        super().init_process()

    def notify(self) -> None:
        """Sends the heartbeat. Exits if the parent has died."""
        super().notify()
        if self.ppid != os.getppid():
            sys.exit(0)

    def run(self) -> None:
        """Serves until it is stopped and drained."""
        self._drain_deadline = 0.0
        # gunicorn looks up a dozen settings by name for each request. As attributes they are found faster.
        self.cfg.__dict__.update({name: setting.get() for name, setting in self.cfg.settings.items()})
        hub: Any = get_hub()
        hub.print_exception = _log_accept_error
        self._max_connections: int = self.cfg.worker_connections
        self._connections: set[Connection] = set()
        self._pool = Pool(self._max_connections)
        servers = [self._listen(each) for each in self.sockets]
        signal.pthread_sigmask(signal.SIG_UNBLOCK, limits.STOP_SIGNALS)
        while self.alive or time.monotonic() < self._drain_deadline:
            self.notify()
            self.app.certificate.context()
            self._close_overdue()
            gevent.sleep(_POLL_SECONDS)
        self._shut_down(servers)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM: fails /readyz at once, stops after the drain time."""
        self._drain(self.app.drain_seconds)

    def handle_quit(self, sig: int, frame: FrameType | None) -> None:
        """SIGINT, SIGQUIT: stops without a drain, also during one."""
        self._drain(0.0)

    def _drain(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        self._drain_deadline = deadline if self.alive else min(deadline, self._drain_deadline)
        self.alive = False
        self.app.readiness.draining = True

    def _listen(self, listener: Socket) -> StreamServer:
        handle = partial(self._handle_connection, listener.getsockname())
        server = StreamServer(listener, handle=handle, spawn=self._pool)
        if self.cfg.workers > 1:
            # One connection at a time, so that connections spread over the workers.
            server.max_accept = 1
        server.start()
        return server

    def _handle_connection(self, server: tuple[str, int], client: Socket, peer: tuple[str, int]) -> None:
        """Serves a connection from accept to close."""
        connection = Connection(client, peer, server, self.cfg)
        self._connections.add(connection)
        try:
            if connection.handshake(self.app.certificate.context()):
                self._serve_requests(connection)
        except Exception:
            _log.exception("connection handler failed")
        finally:
            self._connections.discard(connection)
            connection.close()

    def _serve_requests(self, connection: Connection) -> None:
        while True:
            request = connection.next_request()
            if request is None:
                return
            if not self.alive or connection.exceeds_max_age:
                request.force_close()
            if not connection.respond(request, self.wsgi):
                return

    def _close_overdue(self) -> None:
        """Times out overdue connections, except idle ones on which a request has just arrived."""
        timeouts = self._timeouts()
        overdue = {each for each in self._connections if each.is_overdue(timeouts)}
        for connection in overdue - _readable([each for each in overdue if each.is_idle]):
            get_hub().loop.run_callback(connection.time_out, timeouts)

    def _timeouts(self) -> limits.Timeouts:
        keep_alive = float(self.cfg.keepalive)
        if self._pool.free_count() * 4 >= self._max_connections:
            return limits.Timeouts(limits.HANDSHAKE_SECONDS, keep_alive, keep_alive, math.inf)
        return limits.Timeouts(
            limits.CROWDED_HANDSHAKE_SECONDS,
            min(keep_alive, limits.CROWDED_UNUSED_SECONDS),
            min(keep_alive, limits.CROWDED_IDLE_SECONDS),
            limits.CROWDED_REQUEST_SECONDS,
        )

    def _shut_down(self, servers: list[StreamServer]) -> None:
        """Closes idle connections at once and others after their response."""
        for server in servers:
            server.close()
        started_at = time.monotonic()
        while self._connections and time.monotonic() < started_at + limits.REQUEST_SECONDS:
            self.notify()
            self._close_overdue()
            # An accepted connection gets a second for its handshake.
            kill_handshakes = time.monotonic() > started_at + 1
            closable = {
                each for each in self._connections if each.is_idle or (kill_handshakes and not each.has_handshaken)
            }
            for connection in closable - _readable(closable):
                connection.kill()
            gevent.sleep(_SHUTDOWN_POLL_SECONDS)


def _readable(connections: Collection[Connection]) -> set[Connection]:
    """The connections with unread input."""
    by_descriptor = {each.fileno(): each for each in connections}
    poll = select.poll()
    for descriptor in by_descriptor:
        # Closed sockets have a negative descriptor.
        if descriptor >= 0:
            poll.register(descriptor, select.POLLIN)
    return {by_descriptor[descriptor] for descriptor, _ in poll.poll(0)}


def _log_accept_error(
    context: object, kind: type[BaseException], error: BaseException, stack: TracebackType | None
) -> None:
    """Handles an error outside a connection's greenlet, mostly exhausted file descriptors. gevent retries later."""
    admission_metrics.count_connection_failure("accept")
    _log.error("could not accept a connection", extra={"fields": {"cause": kind.__name__}})
