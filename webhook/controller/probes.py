"""/healthz, /readyz and /metrics, in plain HTTP on a port of their own."""

import http.server
import logging
import socket
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus

from webhook.controller import controller_metrics

Check = Callable[[], str]
"""Says what is wrong, or worth knowing; an empty text where nothing is."""

_TEXT = "text/plain; charset=utf-8"

_log = logging.getLogger("modelfit.probes")


class Probes:
    """Serves until `close`. `remark` is what /readyz says in place of ok. Raises OSError where the port cannot be
    had."""

    def __init__(self, host: str, port: int, healthy: Check, ready: Check, remark: Check = lambda: "") -> None:
        self._server = _server(host, port, _handler({"/healthz": healthy, "/readyz": ready}, {"/readyz": remark}))
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
            """In place of a stack on standard error: a peer that hung up is no event, all else is ours."""
            if not isinstance(sys.exception(), OSError):
                _log.exception("could not answer a probe")

    return Server((host, port), handler)


def _handler(checks: dict[str, Check], remarks: dict[str, Check]) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # A peer that says nothing costs a thread for so long.
        timeout = 5

        def do_GET(self) -> None:
            route = self.path.partition("?")[0]
            if route == "/metrics":
                self._answer(HTTPStatus.OK, controller_metrics.exposition(), controller_metrics.CONTENT_TYPE)
            elif route in checks:
                problem = checks[route]()
                status = HTTPStatus.SERVICE_UNAVAILABLE if problem else HTTPStatus.OK
                remark = remarks[route]() if route in remarks else ""
                self._answer(status, f"{problem or remark or 'ok'}\n".encode())
            else:
                paths = ", ".join([*checks, "/metrics"])
                self._answer(HTTPStatus.NOT_FOUND, f"want one of {paths}\n".encode())

        def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
            """What the library has no method for, or cannot read; without its page, which repeats the request."""
            status = HTTPStatus(code)
            if status is HTTPStatus.NOT_IMPLEMENTED:
                self._answer(HTTPStatus.METHOD_NOT_ALLOWED, b"want GET\n", allow="GET")
            else:
                self._answer(status, f"{status.phrase}\n".encode())

        def _answer(self, status: HTTPStatus, body: bytes, content_type: str = _TEXT, allow: str = "") -> None:
            # Not `send_response`, which tells the version of Python.
            self.send_response_only(status)
            self.send_header("Date", self.date_time_string())
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            if allow:
                self.send_header("Allow", allow)
            # A connection that is kept would cost a thread, and may hold the rest of a request that was not read.
            self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """A probe is no event."""

    return Handler
