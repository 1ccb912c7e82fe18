"""A load generator that uses little CPU: raw TLS sockets that repeat a prepared request.

`python -m benchmarks.client CA CONNECTIONS` reads a line `PORT SECONDS` from standard input for each measurement and
prints a line `RESPONSES SECONDS`. Each measurement opens new connections before its time starts, because their
distribution over several workers is random and would otherwise be the same in every round.
"""

import socket
import ssl
import sys
import time
from contextlib import closing

from benchmarks import reviews


class LoadGenerator:
    """Connections to one port, each with one request in flight."""

    def __init__(self, port: int, context: ssl.SSLContext, connections: int) -> None:
        self._request = reviews.request(f"127.0.0.1:{port}", "/mutate")
        self._sockets = [_connect(port, context) for _ in range(connections)]

    def close(self) -> None:
        for each in self._sockets:
            each.close()

    def drive(self, seconds: float) -> tuple[int, float]:
        """Sends requests for `seconds`. Returns the number of responses and the time that they took."""
        started = time.perf_counter()
        responses = 0
        for each in self._sockets:
            each.sendall(self._request)
        while time.perf_counter() < started + seconds:
            for each in self._sockets:
                receive(each)
                each.sendall(self._request)
            responses += len(self._sockets)
        for each in self._sockets:
            receive(each)
        return responses + len(self._sockets), time.perf_counter() - started


def _connect(port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", port), timeout=30)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def receive(connection: ssl.SSLSocket) -> bytes:
    """The body of the next response. Raises RuntimeError if its status is not 200."""
    data = connection.recv(65536)
    while b"\r\n\r\n" not in data:
        data += _receive_bytes(connection)
    header, _, body = data.partition(b"\r\n\r\n")
    length = int(header.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += _receive_bytes(connection)
    if not header.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"{header!r} {body!r}")
    return body


def _receive_bytes(connection: ssl.SSLSocket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise RuntimeError("the connection was closed")
    return data


def main() -> None:
    """Measures until standard input ends."""
    ca_file, connections = sys.argv[1:]
    context = ssl.create_default_context(cafile=ca_file)
    for line in sys.stdin:
        port, seconds = line.split()
        with closing(LoadGenerator(int(port), context, int(connections))) as generator:
            responses, elapsed = generator.drive(float(seconds))
        print(responses, elapsed, flush=True)


if __name__ == "__main__":
    main()
