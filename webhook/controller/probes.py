"""/healthz, /readyz and /metrics, in plain HTTP on a port of their own."""

import http.server
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus

from webhook.controller import metrics

Check = Callable[[], str]
"""Says what is wrong; an empty text where nothing is."""


class Probes:
    """Serves until `close`. Raises OSError where the port cannot be had."""

    def __init__(self, host: str, port: int, healthy: Check, ready: Check) -> None:
        self._server = _server(host, port, _handler({"/healthz": healthy, "/readyz": ready}))
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

    return Server((host, port), handler)


def _handler(checks: dict[str, Check]) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        # A peer that says nothing costs a thread for so long.
        timeout = 5

        def do_GET(self) -> None:
            route = self.path.partition("?")[0]
            if route == "/metrics":
                self._answer(HTTPStatus.OK, metrics.CONTENT_TYPE, metrics.exposition())
            elif route in checks:
                problem = checks[route]()
                status = HTTPStatus.SERVICE_UNAVAILABLE if problem else HTTPStatus.OK
                self._answer(status, "text/plain; charset=utf-8", f"{problem or 'ok'}\n".encode())
            else:
                paths = ", ".join([*checks, "/metrics"])
                self._answer(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", f"want one of {paths}\n".encode())

        def _answer(self, status: HTTPStatus, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """A probe is no event."""

    return Handler
