"""One request as a WSGI call, and its answer as bytes.

What gunicorn's own `wsgi.create` and `Response` do, without what this server never offers (file wrappers, hints,
trailers, proxies, chunked answers): half of their time. An answer leaves in one piece; header and body as a TLS record
and a packet each would cost as much as a framework does.
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

_BODILESS = ("1", "204", "304")
"""Statuses, by how they begin, whose answers have no body and no length."""


def environ(request: Request, base: dict[str, Any]) -> dict[str, Any]:
    """PEP 3333's environment of a request; `base` are the members that all requests of a connection share."""
    members = base | {
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
        members[key] = f"{members[key]},{value}" if key in members else value
    return members


def base_environ(server: tuple[str, int], peer: tuple[str, int], multiprocess: bool) -> dict[str, Any]:
    """What the requests of a connection share."""
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


def answer(application: Application, members: dict[str, Any], closes: bool) -> bytes:
    """The application's answer, header and body. `closes` says that no other request is answered here."""
    head: list[Any] = []

    def start_response(status: str, headers: Headers, exc_info: object = None) -> Callable[[bytes], object]:
        head[:] = status, headers
        return body.append

    body: list[bytes] = []
    parts = application(members, start_response)
    try:
        body.extend(parts)
    finally:
        close = getattr(parts, "close", None)
        if close is not None:
            close()
    status, headers = head
    return encode(status, headers, b"".join(body), closes, members["REQUEST_METHOD"] == "HEAD")


def encode(status: str, headers: Headers, body: bytes, closes: bool, is_head: bool = False) -> bytes:
    """An HTTP/1.1 response."""
    lines = [f"HTTP/1.1 {status}\r\nDate: {_date()}\r\nConnection: {'close' if closes else 'keep-alive'}"]
    lines += [f"{name}: {value}" for name, value in headers if is_head or name.lower() != "content-length"]
    if status.startswith(_BODILESS):
        body = b""
    elif not is_head:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (b"" if is_head else body)


_second = 0
_date_now = ""


def _date() -> str:
    """RFC 9110, 5.6.7; formatted once a second."""
    global _second, _date_now
    now = int(time.time())
    if now != _second:
        _second = now
        _date_now = formatdate(now, usegmt=True)
    return _date_now
