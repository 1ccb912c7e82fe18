"""Serves /healthz, /readyz and /metrics in plain HTTP."""

import http.server
import logging
import socket
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus

from webhook.controller import controller_metrics

Check = Callable[[], str]
"""Returns an error or a note; an empty text if there is none."""

_TEXT = "text/plain; charset=utf-8"

_log = logging.getLogger("modelfit.probes")


class Probes:
    """Serves until `close`. /readyz answers `note` instead of ok. Raises OSError if it cannot listen on the port."""

    def __init__(self, host: str, port: int, liveness: Check, readiness: Check, note: Check = lambda: "") -> None:
        self._server = _server(host, port, _handler({"/healthz": liveness, "/readyz": readiness}, {"/readyz": note}))
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="probes", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _server(host: str, port: int, handler: type[http.server.BaseHTTPRequestHandler]) -> http.server.ThreadingHTTPServer:
    class Server(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: object, client_address: object) -> None:
            """Logs exceptions, except those of a closed connection. The default prints them to standard error."""
            if not isinstance(sys.exception(), OSError):
                _log.exception("failed to answer a probe")

    return Server((host, port), handler)


def _handler(checks: dict[str, Check], notes: dict[str, Check]) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Seconds that a silent peer occupies a thread.
        timeout = 5

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
