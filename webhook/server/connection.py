"""One peer: its handshake, its requests one after the other, and a farewell that loses no answer.

Every stage has a time limit. The worker looks after them ten times a second (`is_late`, `expire`): a timer of its own
for each read would cost a tenth of what a review costs. Every failure is one of a few causes that are counted, not
logged one by one: what reaches a port from outside must not be able to fill a disk.
"""

import contextlib
import logging
import socket
import time
from collections.abc import Callable
from typing import Any

import gevent
from gevent.socket import socket as Socket  # noqa: N812
from gevent.ssl import SSLContext, SSLSocket
from gunicorn.config import Config
from gunicorn.http.errors import NoMoreData, ParseException
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser
from gunicorn.http.unreader import SocketUnreader

from webhook.observe import admission_metrics
from webhook.server import limits, wsgi
from webhook.server.wsgi import Application

_log = logging.getLogger("modelfit.connection")

_NOT_HTTP = b'{"error":"not a request in HTTP/1.1"}'
_BAD_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
    % (len(_NOT_HTTP), _NOT_HTTP)
)
_NOT_TLS = b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nthis port speaks HTTPS only\n"


class Connection:
    """A peer, from accept to close. Lives in one greenlet."""

    def __init__(self, client: Socket, peer: tuple[str, int], server: tuple[str, int], cfg: Config) -> None:
        self._peer = peer
        self._base = wsgi.base_environ(server, peer, cfg.workers > 1)
        self._opened = time.monotonic()
        self._greenlet: Any = gevent.getcurrent()
        self._socket: Socket | SSLSocket = client
        self._cfg = cfg
        self._parser: Any = None
        self._unreader: Unreader | None = None
        self._enter(limits.HANDSHAKE_SECONDS)

    def _enter(self, seconds: float) -> None:
        """A new stage, which may take so long."""
        self._since = time.monotonic()
        self._allowed = seconds

    @property
    def is_secured(self) -> bool:
        """The handshake is done."""
        return self._unreader is not None

    @property
    def is_idle(self) -> bool:
        """The handshake is done, and no byte of a request is here that has not been answered."""
        return self._unreader is not None and self._unreader.waiting

    @property
    def is_old(self) -> bool:
        """It has lasted long enough."""
        return time.monotonic() - self._opened > limits.CONNECTION_SECONDS

    def is_late(self, idle: float) -> bool:
        """It has been at its stage for too long; `idle` is how long it may be idle."""
        return time.monotonic() - self._since > (idle if self.is_idle else self._allowed)

    def expire(self, idle: float) -> None:
        """Raises TimeoutError where the connection waits, unless it has gone on since it was found to be late. To be
        called by the event loop, in whose time no greenlet runs."""
        if self.is_late(idle):
            self._since = time.monotonic()
            self._greenlet.throw(TimeoutError())

    def end(self) -> None:
        """Ends it where it waits."""
        self._greenlet.kill(block=False)

    def fileno(self) -> int:
        """For poll."""
        return int(self._socket.fileno())

    def secure(self, context: SSLContext) -> bool:
        """The handshake; False where the peer did not get through it in time."""
        plain = self._socket
        try:
            self._socket = tls = context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
            tls.do_handshake()
        except TimeoutError:
            return _broken("handshake_timeout")
        except (OSError, ValueError) as error:
            if getattr(error, "reason", None) == "HTTP_REQUEST":
                with contextlib.suppress(OSError):
                    Socket.send(self._socket, _NOT_TLS)
            return _broken("handshake")
        self._parser = RequestParser(self._cfg, tls, self._peer)
        self._unreader = self._parser.unreader = Unreader(tls, lambda: self._enter(limits.REQUEST_SECONDS))
        return True

    def next_request(self) -> Request | None:
        """The next request, its body still unread; None where the connection is over."""
        assert self._unreader is not None
        try:
            self._enter(limits.REQUEST_SECONDS)
            # What is here already is read without waiting: a peer that sends one request after the other, and does not
            # wait for the answers, would have the worker to itself.
            gevent.sleep(0)
            self._unreader.expect()
            return next(self._parser)
        except (StopIteration, NoMoreData):
            return None
        except TimeoutError:
            if not self.is_idle:
                _broken("request_timeout")
        except ParseException:
            _broken("request")
            with contextlib.suppress(OSError):
                self._socket.sendall(_BAD_REQUEST)
                self._linger()
        except OSError:
            _broken("reset")
        return None

    def answer(self, request: Request, application: Application) -> bool:
        """Runs the WSGI application for a request; False where the connection is over."""
        try:
            if request._expected_100_continue:
                self._socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            closes = request.should_close()
            data = wsgi.answer(application, wsgi.environ(request, self._base), closes)
            self._enter(limits.ANSWER_SECONDS)
            self._socket.sendall(data)
            return self._is_reusable() and not closes
        except TimeoutError:
            return _broken("request_timeout")
        except OSError:
            return _broken("reset")

    def close(self) -> None:
        """Ends it in order, whatever state it is in."""
        self._say_goodbye()
        with contextlib.suppress(OSError):
            self._socket.close()

    def _is_reusable(self) -> bool:
        """The rest of the body is out of the way."""
        self._enter(limits.REQUEST_SECONDS)
        try:
            if self._parser.finish_body(max_bytes=limits.UNREAD_BYTES):
                return True
        except ParseException:
            # A body in chunks that are none, which nobody wanted.
            _broken("request")
        self._linger()
        return False

    def _say_goodbye(self) -> None:
        """TLS's close_notify, without waiting for the peer's."""
        if self.is_secured and isinstance(self._socket, SSLSocket):
            self._socket.settimeout(0.0)
            with contextlib.suppress(OSError, ValueError):
                self._socket.unwrap()

    def _linger(self) -> None:
        """Says goodbye and lets the peer, who is still sending, read the answer."""
        self._enter(limits.LINGER_SECONDS)
        with contextlib.suppress(OSError, ValueError):
            self._say_goodbye()
            self._socket.settimeout(None)
            self._socket.shutdown(socket.SHUT_WR)
            unread = 0
            while unread < limits.UNREAD_BYTES and (data := Socket.recv(self._socket, 64 << 10)):
                unread += len(data)


class Unreader(SocketUnreader):  # type: ignore[misc]
    """Reads requests, and tells when one `begins`."""

    def __init__(self, tls: SSLSocket, begins: Callable[[], None]) -> None:
        super().__init__(tls, max_chunk=16 << 10)
        self._begins = begins
        self.waiting = False
        """Nothing of the next request has come yet."""

    def expect(self) -> None:
        """The next request is due."""
        self.waiting = not self.buf.getbuffer().nbytes

    def chunk(self, size_hint: int | None = None) -> bytes:
        """What has come."""
        data: bytes = super().chunk(size_hint)
        if self.waiting:
            self.waiting = False
            self._begins()
        return data


def _broken(cause: admission_metrics.Cause) -> bool:
    admission_metrics.broken_connection(cause)
    _log.debug("broken connection", extra={"fields": {"cause": cause}})
    return False
