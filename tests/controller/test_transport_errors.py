"""Errors of the transport, over real sockets."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from kubernetes.client import Configuration

from certs.issuing import issue_ca, issue_leaf
from certs.pem import dump_certificates
from webhook.cluster import api
from webhook.cluster.api import Api
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.client_config import ClientConfig

Handler = Callable[[socket.socket], object]
"""What a server does with a connection."""


@contextmanager
def serving(handle: Handler) -> Iterator[int]:
    """A server that handles every connection so; its port."""
    connections: list[socket.socket] = []

    def run() -> None:
        # `accept` raises when the listener is closed.
        with contextlib.suppress(OSError):
            while True:
                connections.append(listener.accept()[0])
                with contextlib.suppress(OSError):
                    handle(connections[-1])

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        # Closing alone does not interrupt `accept`.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)
        for each in connections:
            each.close()


def error_of_call(server: str) -> ApiError:
    configuration = Configuration()
    configuration.host = server
    client = Api(ClientConfig(configuration, lambda _: None, "default"), connections=1, user_agent="test")
    with pytest.raises(ApiError) as raised:
        client.call("GET", "/version", read_seconds=0.5)
    client.close()
    return raised.value


def reset(peer: socket.socket) -> None:
    peer.recv(1)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    peer.close()


def cut_off(peer: socket.socket) -> None:
    peer.recv(4096)
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    peer.close()


@pytest.mark.parametrize(
    ("scheme", "handle", "reason", "message"),
    [
        ("http", reset, ErrorReason.UNREACHABLE, "the connection was closed"),
        ("https", reset, ErrorReason.UNREACHABLE, "the connection was closed"),
        ("http", cut_off, ErrorReason.UNREACHABLE, "the response is incomplete"),
        ("http", lambda peer: None, ErrorReason.TIMED_OUT, "no response"),
        ("https", lambda peer: None, ErrorReason.TIMED_OUT, "no response"),
        ("https", lambda peer: peer.sendall(b"HTTP/1.1 400\r\n\r\n"), ErrorReason.TLS_FAILED, "wrong version number"),
    ],
    ids=["reset", "reset with TLS", "cut off", "silent", "silent with TLS", "without TLS"],
)
def test_a_server_that_does_not_respond_properly(
    scheme: str, handle: Handler, reason: ErrorReason, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It is also the timeout of the TLS handshake.
    monkeypatch.setattr(api, "CONNECT_SECONDS", 0.5)
    with serving(handle) as port:
        server = f"{scheme}://127.0.0.1:{port}"
        error = error_of_call(server)
    assert (error.reason, error.message) == (reason, f"{server}: {message}")


def test_a_refused_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        server = f"https://127.0.0.1:{free.getsockname()[1]}"
    error = error_of_call(server)
    assert error.reason is ErrorReason.UNREACHABLE
    assert str(error) == f"the API server cannot be reached: {server}: the connection was refused"


@pytest.mark.parametrize(
    ("exception", "reason", "message"),
    [
        (socket.gaierror(-2, "Name or service not known"), ErrorReason.UNREACHABLE, "its name does not resolve"),
        (OSError(101, "Network is unreachable"), ErrorReason.UNREACHABLE, "Network is unreachable"),
        (TimeoutError("timed out"), ErrorReason.TIMED_OUT, "no connection"),
    ],
    ids=["name", "network", "time"],
)
def test_an_unresolvable_name_and_an_unreachable_network(
    exception: OSError, reason: ErrorReason, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def getaddrinfo(*_: object) -> object:
        raise exception

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    error = error_of_call("https://api.example:6443")
    assert (error.reason, error.message) == (reason, f"https://api.example:6443: {message}")


def test_a_certificate_of_an_unknown_ca(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    made = issue_leaf(issue_ca(now, timedelta(days=30)), ["127.0.0.1"], now, timedelta(days=10))
    (tmp_path / "pair.pem").write_bytes(dump_certificates((made.certificate,)) + made.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "pair.pem")
    with serving(lambda peer: context.wrap_socket(peer, server_side=True).close()) as port:
        error = error_of_call(f"https://127.0.0.1:{port}")
    assert error.reason is ErrorReason.UNTRUSTED
    assert "unable to get local issuer certificate" in error.message
