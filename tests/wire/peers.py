"""What peers of the port send, ordinary and not, written out."""

import contextlib
import json
import socket
import ssl
import time
from collections.abc import Iterable

from tests.core import kit

BODY = json.dumps(kit.body(kit.pod())).encode()
JSON = "Content-Type: application/json\r\n"


def call(body: bytes = BODY, headers: str = JSON, path: str = "/mutate", length: int | None = None) -> bytes:
    """A POST, written out."""
    size = len(body) if length is None else length
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {size}\r\n\r\n".encode() + body


def hello() -> bytes:
    """A ClientHello as Python's TLS sends it."""
    outgoing = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    # There is no answer to read.
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def answer(peer: socket.socket) -> tuple[int, bytes, bytes]:
    """Status, header and body of the next answer. Raises EOFError where there is none."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += more(peer)
    header, _, body = data.partition(b"\r\n\r\n")
    length = int(header.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += more(peer)
    return int(header.split()[1]), header, body


def more(peer: socket.socket) -> bytes:
    """What has come. Raises EOFError where the server has ended the connection."""
    data = peer.recv(65536)
    if not data:
        raise EOFError
    return data


def is_over(peer: socket.socket) -> bool:
    """The server has ended the connection."""
    try:
        return not peer.recv(1)
    except ConnectionError:
        return True


def taken(peer: socket.socket, pieces: Iterable[bytes], pause: float = 0.0) -> int:
    """Bytes that the server takes before it ends the connection, at most those of `pieces`."""
    total = 0
    with contextlib.suppress(OSError):
        for piece in pieces:
            peer.sendall(piece)
            total += len(piece)
            time.sleep(pause)
    return total


def reset(peer: socket.socket) -> None:
    """Ends the connection without a farewell."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    peer.close()


def send_and_close(peer: socket.socket, data: bytes) -> None:
    """Sends, and does not wait for an answer."""
    try:
        peer.sendall(data)
    except OSError:
        # It may have hung up on us first.
        return
    finally:
        peer.close()
