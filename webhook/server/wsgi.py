"""Converts a request to a WSGI call, and its response to bytes.

This replaces gunicorn's `wsgi.create` and `Response`, which take twice the time because they support file wrappers,
early hints, trailers, proxies and chunked responses. A response is one write: header and body in separate TLS records
and packets would cost as much as a web framework.
"""

import sys
import time
from collections.abc import Callable, Iterable
from email.utils import formatdate
from typing import Any, TypeAlias
from urllib.parse import unquote_to_bytes

from gunicorn.http.message import Request

Headers: TypeAlias = list[tuple[str, str]]
Application: TypeAlias = Callable[[dict[str, Any], Any], Iterable[bytes]]

REVIEW_PATHS = ("/mutate", "/validate")
STATUS_OK = b"HTTP/1.1 200 "

_BODILESS_STATUSES = ("1", "204", "304")
"""Prefixes of the statuses whose responses have neither a body nor a Content-Length."""


def build_environ(request: Request, connection_environ: dict[str, Any]) -> dict[str, Any]:
    """The WSGI environment (PEP 3333) of a request on the connection with `connection_environ`."""
    environ = connection_environ | {
        "REQUEST_METHOD": request.method,
        "PATH_INFO": unquote_to_bytes(request.path).decode("latin-1"),
        "QUERY_STRING": request.query,
        "SERVER_PROTOCOL": "HTTP/{}.{}".format(*request.version),
        "wsgi.input": request.body,
    }
    for name, value in request.headers:
        key = name.replace("-", "_")
        if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            key = f"HTTP_{key}"
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    return environ


def build_connection_environ(server: tuple[str, int], peer: tuple[str, int], multiprocess: bool) -> dict[str, Any]:
    """The part of the WSGI environment that all requests of a connection share."""
    return {
        "SCRIPT_NAME": "",
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "REMOTE_ADDR": peer[0],
        "REMOTE_PORT": str(peer[1]),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "https",
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": multiprocess,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
    }


def call(application: Application, environ: dict[str, Any], close: bool) -> bytes:
    """Calls the application; returns the HTTP response. `close` announces that the connection is closed after it."""
    head: list[Any] = []
    body: list[bytes] = []

    def start_response(status: str, headers: Headers, exc_info: object = None) -> Callable[[bytes], object]:
        head[:] = status, headers
        return body.append

    chunks = application(environ, start_response)
    try:
        body.extend(chunks)
    finally:
        close_chunks = getattr(chunks, "close", None)
        if close_chunks is not None:
            close_chunks()
    status, headers = head
    return serialize_response(status, headers, b"".join(body), close, environ["REQUEST_METHOD"] == "HEAD")


def serialize_response(status: str, headers: Headers, body: bytes, close: bool, is_head: bool = False) -> bytes:
    """An HTTP/1.1 response as bytes."""
    lines = [f"HTTP/1.1 {status}\r\nDate: {_http_date()}\r\nConnection: {'close' if close else 'keep-alive'}"]
    lines += [f"{name}: {value}" for name, value in headers if is_head or name.lower() != "content-length"]
    if status.startswith(_BODILESS_STATUSES):
        body = b""
    elif not is_head:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (b"" if is_head else body)


_cached_second = 0
_cached_date = ""


def _http_date() -> str:
    """The current time as in RFC 9110, 5.6.7; formatted once a second."""
    global _cached_second, _cached_date
    now = int(time.time())
    if now != _cached_second:
        _cached_second = now
        _cached_date = formatdate(now, usegmt=True)
    return _cached_date
