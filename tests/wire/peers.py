"""Raw requests and connections of well-behaved and hostile peers."""

import contextlib
import json
import socket
import ssl
import time
from collections.abc import Iterable

from tests.core import builders

BODY = json.dumps(builders.body(builders.pod())).encode()
JSON = "Content-Type: application/json\r\n"


def post_request(body: bytes = BODY, headers: str = JSON, path: str = "/mutate", length: int | None = None) -> bytes:
    """A POST request. `length` overrides its Content-Length."""
    size = len(body) if length is None else length
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {size}\r\n\r\n".encode() + body


def client_hello() -> bytes:
    """A TLS ClientHello."""
    outgoing = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    # No server responds.
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def read_response(peer: socket.socket) -> tuple[int, bytes, bytes]:
    """Status, header and body of the next response. Raises EOFError if the server closes the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += receive(peer)
    header, _, body = data.partition(b"\r\n\r\n")
    length = int(header.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += receive(peer)
    return int(header.split()[1]), header, body


def receive(peer: socket.socket) -> bytes:
    """The next bytes. Raises EOFError if the server closes the connection."""
    data = peer.recv(65536)
    if not data:
        raise EOFError
    return data


def is_closed(peer: socket.socket) -> bool:
    """Waits for the server; whether it closes the connection instead of sending."""
    try:
        return not peer.recv(1)
    except ConnectionError:
        return True


def count_accepted(peer: socket.socket, pieces: Iterable[bytes], pause: float = 0.0) -> int:
    """Sends pieces with pauses of `pause` seconds until the server closes the connection; the bytes sent."""
    total = 0
    with contextlib.suppress(OSError):
        for piece in pieces:
            peer.sendall(piece)
            total += len(piece)
            time.sleep(pause)
    return total


def reset(peer: socket.socket) -> None:
    """Closes the connection with a TCP reset."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    peer.close()


def send_and_close(peer: socket.socket, data: bytes) -> None:
    """Sends, and closes without reading the response. The server may close first."""
    with contextlib.closing(peer), contextlib.suppress(OSError):
        peer.sendall(data)
