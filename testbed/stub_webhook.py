"""A stub of another party's admission webhook: a function of the test denies, patches or warns."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeAlias

from testbed import workspace
from testbed.api import JsonObject
from testbed.certificates import mint
from testbed.servers import LOOPBACK

Decide: TypeAlias = Callable[[JsonObject], JsonObject]
"""Maps the `request` of an AdmissionReview to its `response`; the uid is filled in."""


def allow(*, patch: Sequence[JsonObject] = (), warnings: Sequence[str] = ()) -> JsonObject:
    """A response that allows the object, with JSON Patch operations and warnings."""
    response: JsonObject = {"allowed": True}
    if patch:
        encoded = base64.b64encode(json.dumps(list(patch)).encode()).decode()
        response |= {"patchType": "JSONPatch", "patch": encoded}
    if warnings:
        response["warnings"] = list(warnings)
    return response


def deny(message: str) -> JsonObject:
    return {"allowed": False, "status": {"code": 403, "message": message}}


class StubWebhook:
    """An HTTPS server that answers every review with `decide`. Register it with `url` and `ca` (PEM)."""

    def __init__(self, decide: Decide, context: ssl.SSLContext | None = None) -> None:
        """`context` serves a certificate of the test's own."""
        files = mint(workspace.current().folder("stub-webhook"))
        if context is None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(files.certificate, files.key)
        self._server = _Server((LOOPBACK, 0), _handler(decide))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://{LOOPBACK}:{self._server.server_port}"
        self.ca = files.ca.read_bytes()
        self._thread = threading.Thread(target=self._server.serve_forever, name="stub webhook", daemon=True)

    def __enter__(self) -> StubWebhook:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(http.server.ThreadingHTTPServer):
    # The API server keeps its connections open; their threads end with the process.
    daemon_threads = True
    block_on_close = False


def _handler(decide: Decide) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Seconds; do not wait for a peer that has gone.
        timeout = 60

        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            response = {"uid": review["request"]["uid"], **decide(review["request"])}
            answer = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Logs nothing: the API server's answer shows the result."""

    return Handler
