"""A client that costs little: raw TLS sockets that send one prepared request again and again.

`python -m benchmarks.client CA CONNECTIONS`, as a process of its own; then a line `PORT SECONDS` on standard input for
each measurement, answered by a line `ANSWERS SECONDS`. Each has connections of its own, made before its time begins:
which of several workers gets how many is chance, and would else be the same chance in every round.
"""

import socket
import ssl
import sys
import time
from contextlib import closing

from benchmarks import reviews


class Peer:
    """Connections to one port, each with a request on its way at any time."""

    def __init__(self, port: int, context: ssl.SSLContext, connections: int) -> None:
        self._request = reviews.request(f"127.0.0.1:{port}", "/mutate")
        self._sockets = [_connect(port, context) for _ in range(connections)]

    def close(self) -> None:
        for each in self._sockets:
            each.close()

    def drive(self, seconds: float) -> tuple[int, float]:
        """Sends for so long; answers received, and the seconds that they took."""
        started = time.perf_counter()
        answers = 0
        for each in self._sockets:
            each.sendall(self._request)
        while time.perf_counter() < started + seconds:
            for each in self._sockets:
                receive(each)
                each.sendall(self._request)
            answers += len(self._sockets)
        for each in self._sockets:
            receive(each)
        return answers + len(self._sockets), time.perf_counter() - started


def _connect(port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", port), timeout=30)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def receive(connection: ssl.SSLSocket) -> bytes:
    """One answer, whole. Raises RuntimeError where it is not a 200."""
    data = connection.recv(65536)
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    header, _, body = data.partition(b"\r\n\r\n")
    length = int(header.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += _more(connection)
    if not header.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"{header!r} {body!r}")
    return body


def _more(connection: ssl.SSLSocket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise RuntimeError("the connection was closed")
    return data


def main() -> None:
    """Measures until its standard input ends."""
    authority, connections = sys.argv[1:]
    context = ssl.create_default_context(cafile=authority)
    for line in sys.stdin:
        port, seconds = line.split()
        with closing(Peer(int(port), context, int(connections))) as peer:
            answers, took = peer.drive(float(seconds))
        print(answers, took, flush=True)


if __name__ == "__main__":
    main()
