"""Serves /healthz, /readyz and /metrics in plain HTTP.

Peers that reach the port cannot keep the kubelet from it: a connection has a deadline, and of too many connections the
oldest is closed.
"""

import http.server
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeAlias

from webhook.controller import controller_metrics

Check = Callable[[], str]
"""Returns an error or a note; an empty text if there is none."""

CONNECTION_SECONDS = 5.0
"""Time for a whole connection, from its acceptance to the last byte of the response."""
MAX_CONNECTIONS = 32
"""Open connections, each of which has a thread."""

_TEXT = "text/plain; charset=utf-8"
_Connection: TypeAlias = "socket.socket | tuple[bytes, socket.socket]"
"""What socketserver calls a request."""

_log = logging.getLogger("modelfit.probes")


class Probes:
    """Serves until `close`. /readyz answers `note` instead of ok. Raises OSError if it cannot listen on the port."""

    def __init__(self, host: str, port: int, liveness: Check, readiness: Check, note: Check = lambda: "") -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        handler = _handler({"/healthz": liveness, "/readyz": readiness}, {"/readyz": note})
        self._server = _Server((host, port), handler, family)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="probes", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    # The backlog of connections that are not accepted yet. The default of 5 would refuse the kubelet in a flood.
    request_queue_size = 512

    def __init__(
        self, address: tuple[str, int], handler: type[http.server.BaseHTTPRequestHandler], family: socket.AddressFamily
    ) -> None:
        self.address_family = family
        self._closed = threading.Condition()
        self._opened: dict[_Connection, float] = {}
        """Open connections and when they were accepted, the oldest first."""
        super().__init__(address, handler)

    def process_request(self, request: _Connection, client_address: object) -> None:
        """Starts a thread for the connection, after that of the oldest has ended if there are too many."""
        with self._closed:
            while len(self._opened) >= MAX_CONNECTIONS:
                _disconnect(next(iter(self._opened)))
                # Its thread ends at its next read or write, unless a check hangs.
                if not self._closed.wait(CONNECTION_SECONDS):
                    super().shutdown_request(request)
                    return
            self._opened[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: _Connection) -> None:
        """Runs when a connection ends."""
        super().shutdown_request(request)
        with self._closed:
            self._opened.pop(request, None)
            self._closed.notify()

    def service_actions(self) -> None:
        """Runs ten times a second and after each new connection: closes those past the deadline."""
        before = time.monotonic() - CONNECTION_SECONDS
        with self._closed:
            for connection, opened in self._opened.items():
                if opened > before:
                    return
                _disconnect(connection)

    def handle_error(self, request: object, client_address: object) -> None:
        """Logs exceptions, except those of a closed connection. The default prints them to standard error."""
        if not isinstance(sys.exception(), OSError):
            _log.exception("failed to answer a probe")


def _disconnect(connection: _Connection) -> None:
    """Ends a connection whose thread reads from it or writes to it. The thread then closes it."""
    if isinstance(connection, socket.socket):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            # The peer has closed it.
            return


def _handler(checks: dict[str, Check], notes: dict[str, Check]) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            route = self.path.partition("?")[0]
            if route == "/metrics":
                self._respond(HTTPStatus.OK, controller_metrics.exposition(), controller_metrics.CONTENT_TYPE)
            elif route in checks:
                error = checks[route]()
                status = HTTPStatus.SERVICE_UNAVAILABLE if error else HTTPStatus.OK
                note = notes[route]() if route in notes else ""
                self._respond(status, f"{error or note or 'ok'}\n".encode())
            else:
                routes = ", ".join([*checks, "/metrics"])
                self._respond(HTTPStatus.NOT_FOUND, f"want one of {routes}\n".encode())

        def send_error(self, code: int, *_: object, **__: object) -> None:
            """Answers other methods and malformed requests. The default page would repeat the request."""
            status = HTTPStatus(code)
            if status is HTTPStatus.NOT_IMPLEMENTED:
                self._respond(HTTPStatus.METHOD_NOT_ALLOWED, b"want GET\n", allow="GET")
            else:
                self._respond(status, f"{status.phrase}\n".encode())

        def _respond(self, status: HTTPStatus, body: bytes, content_type: str = _TEXT, allow: str = "") -> None:
            # `send_response` would add a Server header with the Python version.
            self.send_response_only(status)
            self.send_header("Date", self.date_time_string())
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            if allow:
                self.send_header("Allow", allow)
            # A kept connection would occupy a thread, and may hold the unread rest of a request.
            self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Probes are not logged."""

    return Handler
