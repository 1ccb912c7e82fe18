"""One connection: TLS handshake, requests one after the other, orderly close.

Each phase has a time limit. The worker checks all connections ten times a second (`is_overdue`, `time_out`); a timer
for each read would cost a tenth of a review's time. Failures are counted by cause and logged at debug level only:
traffic from outside must not be able to fill a disk.
"""

import contextlib
import logging
import socket
import time
from collections.abc import Callable
from ssl import CERT_NONE
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
from webhook.server.client_authentication import CLIENT_NAMES, certificate_names
from webhook.server.wsgi import Application

_log = logging.getLogger("modelfit.connection")

_NOT_HTTP = b'{"error":"not an HTTP/1.1 request"}'
_BAD_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
    % (len(_NOT_HTTP), _NOT_HTTP)
)
_NOT_TLS = b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nthis port speaks HTTPS only\n"


class Connection:
    """A connection from accept to close. All methods but `is_overdue`, `time_out` and `kill` run in its greenlet."""

    def __init__(self, client: Socket, peer: tuple[str, int], server: tuple[str, int], cfg: Config) -> None:
        self._peer = peer
        self.has_served_review = False
        """A review was answered on this connection, so the peer is probably an API server."""
        self._environ = wsgi.build_connection_environ(server, peer, cfg.workers > 1)
        self._opened_at = time.monotonic()
        self._greenlet: Any = gevent.getcurrent()
        self._socket: Socket | SSLSocket = client
        self._cfg = cfg
        self._parser: Any = None
        self._unreader: RequestUnreader | None = None
        self._start_phase(limits.HANDSHAKE_SECONDS)

    def _start_phase(self, timeout: float) -> None:
        """Starts a phase that may take `timeout` seconds."""
        self._phase_started_at = time.monotonic()
        self._phase_timeout = timeout

    @property
    def has_handshaken(self) -> bool:
        """The TLS handshake is complete."""
        return self._unreader is not None

    @property
    def is_idle(self) -> bool:
        """The TLS handshake is complete, and no byte of an unanswered request has been read."""
        return self._unreader is not None and self._unreader.is_waiting

    @property
    def exceeds_max_age(self) -> bool:
        """The connection is to be closed after its next response."""
        return time.monotonic() - self._opened_at > limits.MAX_CONNECTION_SECONDS

    def is_overdue(self, timeouts: limits.Timeouts) -> bool:
        """The current phase has exceeded its time limit. `timeouts` are those that depend on the worker's load."""
        if not self.has_handshaken:
            timeout = timeouts.handshake
        elif not self.is_idle:
            timeout = min(self._phase_timeout, timeouts.request)
        else:
            timeout = timeouts.idle if self.has_served_review else timeouts.unused
        return time.monotonic() - self._phase_started_at > timeout

    def time_out(self, timeouts: limits.Timeouts) -> None:
        """Raises TimeoutError in the connection's greenlet if the connection is still overdue. Call this from the
        event loop, so that no greenlet runs meanwhile."""
        if self.is_overdue(timeouts):
            self._phase_started_at = time.monotonic()
            self._greenlet.throw(TimeoutError())

    def kill(self) -> None:
        """Ends the connection's greenlet at its next wait."""
        self._greenlet.kill(block=False)

    def fileno(self) -> int:
        """The socket's descriptor; negative if it is closed."""
        return int(self._socket.fileno())

    def handshake(self, context: SSLContext) -> bool:
        """Performs the TLS handshake; False if it fails."""
        plain = self._socket
        try:
            self._socket = tls = context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
            tls.do_handshake()
        except TimeoutError:
            return _fail("handshake_timeout")
        except (OSError, ValueError) as error:
            if getattr(error, "reason", None) == "HTTP_REQUEST":
                with contextlib.suppress(OSError):
                    Socket.send(self._socket, _NOT_TLS)
            return _fail("handshake")
        if context.verify_mode is not CERT_NONE and (certificate := tls.getpeercert()):
            self._environ[CLIENT_NAMES] = certificate_names(certificate)
        self._parser = RequestParser(self._cfg, tls, self._peer)
        self._unreader = RequestUnreader(tls, lambda: self._start_phase(limits.REQUEST_SECONDS))
        self._parser.unreader = self._unreader
        return True

    def next_request(self) -> Request | None:
        """Waits for the next request and reads it up to its body. None if the connection is to be closed."""
        assert self._unreader is not None
        try:
            self._start_phase(limits.REQUEST_SECONDS)
            # Buffered data is read without waiting. A peer that pipelines requests would block all others.
            gevent.sleep(0)
            self._unreader.wait_for_request()
            return next(self._parser)
        except (StopIteration, NoMoreData):
            return None
        except TimeoutError:
            if not self.is_idle:
                _fail("request_timeout")
        except ParseException:
            _fail("request")
            with contextlib.suppress(OSError):
                self._socket.sendall(_BAD_REQUEST)
                self._linger()
        except OSError:
            _fail("reset")
        return None

    def respond(self, request: Request, application: Application) -> bool:
        """Calls the application and sends its response. False if the connection is to be closed."""
        try:
            if request._expected_100_continue:
                self._socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            close = request.should_close()
            response = wsgi.call(application, wsgi.build_environ(request, self._environ), close)
            self._start_phase(limits.RESPONSE_SECONDS)
            self._socket.sendall(response)
            if request.path in wsgi.REVIEW_PATHS and response.startswith(wsgi.STATUS_OK):
                self.has_served_review = True
            return self._discard_body() and not close
        except TimeoutError:
            return _fail("request_timeout")
        except OSError:
            return _fail("reset")

    def close(self) -> None:
        """Closes the connection in any phase."""
        self._send_close_notify()
        with contextlib.suppress(OSError):
            self._socket.close()

    def _discard_body(self) -> bool:
        """Reads the rest of the request's body. False if it is too long or malformed."""
        self._start_phase(limits.REQUEST_SECONDS)
        try:
            if self._parser.finish_body(max_bytes=limits.MAX_DISCARDED_BYTES):
                return True
        except ParseException:
            # The response did not depend on the body, so the chunked encoding is checked only here.
            _fail("request")
        self._linger()
        return False

    def _send_close_notify(self) -> None:
        """Sends TLS's close_notify without waiting for the peer's."""
        if self.has_handshaken and isinstance(self._socket, SSLSocket):
            self._socket.settimeout(0.0)
            with contextlib.suppress(OSError, ValueError):
                self._socket.unwrap()

    def _linger(self) -> None:
        """Lingering close: stops sending and discards input, so that a peer that is still sending can read the
        response."""
        self._start_phase(limits.LINGER_SECONDS)
        with contextlib.suppress(OSError, ValueError):
            self._send_close_notify()
            self._socket.settimeout(None)
            self._socket.shutdown(socket.SHUT_WR)
            discarded = 0
            while discarded < limits.MAX_DISCARDED_BYTES and (data := Socket.recv(self._socket, 64 << 10)):
                discarded += len(data)


class RequestUnreader(SocketUnreader):  # type: ignore[misc]
    """Reads from a TLS socket, and calls `on_request_start` at the first byte of each request."""

    def __init__(self, tls: SSLSocket, on_request_start: Callable[[], None]) -> None:
        super().__init__(tls, max_chunk=16 << 10)
        self._on_request_start = on_request_start
        self.is_waiting = False
        """No byte of the next request has been read."""

    def wait_for_request(self) -> None:
        """Marks the end of the previous request. The next one may already be in the buffer."""
        self.is_waiting = not self.buf.getbuffer().nbytes

    def chunk(self, size_hint: int | None = None) -> bytes:
        """The next bytes; empty at the end of the stream."""
        data: bytes = super().chunk(size_hint)
        if self.is_waiting:
            self.is_waiting = False
            self._on_request_start()
        return data


def _fail(cause: admission_metrics.ConnectionFailure) -> bool:
    """Counts a failed connection. Returns False."""
    admission_metrics.count_connection_failure(cause)
    _log.debug("connection failed", extra={"fields": {"cause": cause}})
    return False
