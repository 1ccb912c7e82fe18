"""A frozen proxy is silent without closing a connection, and each connection goes where `to` says."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator

import pytest

from testbed.tcp_proxy import TCPProxy


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(1024):
            self.request.sendall(data)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@pytest.fixture
def echo_port() -> Iterator[int]:
    with _Server(("127.0.0.1", 0), _Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def connect(proxy: TCPProxy) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", proxy.port), timeout=5)
    connection.settimeout(1)
    return connection


def echo(connection: socket.socket, text: bytes) -> bytes:
    connection.sendall(text)
    return connection.recv(1024)


def test_a_frozen_proxy_is_silent_and_closes_nothing(echo_port: int) -> None:
    with TCPProxy(echo_port) as proxy, connect(proxy) as old:
        assert echo(old, b"before") == b"before"
        proxy.freeze()
        with pytest.raises(TimeoutError):
            echo(old, b"lost")
        with connect(proxy) as new, pytest.raises(TimeoutError):
            echo(new, b"lost")
        proxy.thaw()
        with connect(proxy) as later:
            assert echo(later, b"after") == b"after"
        with pytest.raises(TimeoutError):
            echo(old, b"still lost")


def test_each_connection_goes_to_its_own_port_or_is_closed(echo_port: int) -> None:
    ports: list[int | None] = [echo_port, None, echo_port]

    def pick_port() -> int:
        port = ports.pop(0)
        if port is None:
            raise ConnectionRefusedError
        return port

    with TCPProxy(pick_port) as proxy:
        with connect(proxy) as connection:
            assert echo(connection, b"text") == b"text"
            proxy.close_connections()
            assert connection.recv(1024) == b""
        with connect(proxy) as connection:
            assert connection.recv(1024) == b""
        with connect(proxy) as connection:
            assert echo(connection, b"text") == b"text"
