"""The relay passes on, falls silent without closing, cuts, and asks where to for each connection."""

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
def relay() -> Iterator[TCPProxy]:
    with _Server(("127.0.0.1", 0), _Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with TCPProxy(server.server_address[1]) as made:
            yield made
        server.shutdown()


def connect(relay: TCPProxy) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", int(relay.url.rpartition(":")[2])), timeout=5)
    made.settimeout(1)
    return made


def echo(connection: socket.socket, text: bytes) -> bytes:
    connection.sendall(text)
    return connection.recv(1024)


def test_bytes_pass_both_ways(relay: TCPProxy) -> None:
    with connect(relay) as one, connect(relay) as two:
        assert (echo(one, b"one"), echo(two, b"two")) == (b"one", b"two")
        assert relay.connections() == 2
    wait_for("closed connections are forgotten", lambda: relay.connections() == 0)


def test_frozen_it_is_silent_and_nothing_is_closed(relay: TCPProxy) -> None:
    with connect(relay) as old:
        assert echo(old, b"before") == b"before"
        relay.freeze()
        with pytest.raises(TimeoutError):
            echo(old, b"lost")
        with connect(relay) as new, pytest.raises(TimeoutError):
            echo(new, b"lost")
        relay.thaw()
        with connect(relay) as later:
            assert echo(later, b"after") == b"after"
        with pytest.raises(TimeoutError):
            echo(old, b"still lost")


def test_a_cut_closes_what_there_is_and_lets_new_ones_through(relay: TCPProxy) -> None:
    with connect(relay) as old:
        assert echo(old, b"before") == b"before"
        relay.cut()
        assert old.recv(1024) == b""
    with connect(relay) as new:
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
        with TCPProxy(choose) as relay:
            with connect(relay) as connection:
                assert echo(connection, b"text") == b"text"
            with connect(relay) as connection:
                assert echo(connection, b"text") == b"two"
            with connect(relay) as connection:
                assert connection.recv(1024) == b""
        for server in (one, two):
            server.shutdown()
