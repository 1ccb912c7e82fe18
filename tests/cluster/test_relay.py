"""The proxy passes on, falls silent without closing, cuts, and asks where to for each connection."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator

import pytest

from testbed.tcp_proxy import TCPProxy
from testbed.waiting import wait_for


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(1024):
            self.request.sendall(data)


class _Name(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while self.request.recv(1024):
            self.request.sendall(b"two")


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@pytest.fixture
def proxy() -> Iterator[TCPProxy]:
    with _Server(("127.0.0.1", 0), _Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with TCPProxy(server.server_address[1]) as made:
            yield made
        server.shutdown()


def connect(proxy: TCPProxy) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", int(proxy.url.rpartition(":")[2])), timeout=5)
    made.settimeout(1)
    return made


def echo(connection: socket.socket, text: bytes) -> bytes:
    connection.sendall(text)
    return connection.recv(1024)


def test_bytes_pass_both_ways(proxy: TCPProxy) -> None:
    with connect(proxy) as one, connect(proxy) as two:
        assert (echo(one, b"one"), echo(two, b"two")) == (b"one", b"two")
        assert proxy.connections() == 2
    wait_for("closed connections are forgotten", lambda: proxy.connections() == 0)


def test_frozen_it_is_silent_and_nothing_is_closed(proxy: TCPProxy) -> None:
    with connect(proxy) as old:
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


def test_a_cut_closes_what_there_is_and_lets_new_ones_through(proxy: TCPProxy) -> None:
    with connect(proxy) as old:
        assert echo(old, b"before") == b"before"
        proxy.close_connections()
        assert old.recv(1024) == b""
    with connect(proxy) as new:
        assert echo(new, b"after") == b"after"


def test_each_connection_goes_where_it_is_told_to_and_is_closed_where_that_is_nowhere() -> None:
    answers: list[int | None] = []

    def choose() -> int:
        port = answers.pop(0)
        if port is None:
            raise ConnectionRefusedError
        return port

    with _Server(("127.0.0.1", 0), _Echo) as one, _Server(("127.0.0.1", 0), _Name) as two:
        for server in (one, two):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        answers += [one.server_address[1], two.server_address[1], None]
        with TCPProxy(choose) as proxy:
            with connect(proxy) as connection:
                assert echo(connection, b"text") == b"text"
            with connect(proxy) as connection:
                assert echo(connection, b"text") == b"two"
            with connect(proxy) as connection:
                assert connection.recv(1024) == b""
        for server in (one, two):
            server.shutdown()
