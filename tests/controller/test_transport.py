"""What is said of an API server that cannot be reached, in each of the ways in which it cannot, over real sockets."""

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

Peer = Callable[[socket.socket], object]
"""What a server does with a connection."""


@contextmanager
def serving(peer: Peer) -> Iterator[int]:
    """A server that treats every connection so; its port."""
    kept: list[socket.socket] = []

    def run() -> None:
        # `accept` ends with the listener.
        with contextlib.suppress(OSError):
            while True:
                kept.append(listener.accept()[0])
                with contextlib.suppress(OSError):
                    peer(kept[-1])

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        # Closing alone does not wake the thread.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)
        for each in kept:
            each.close()


def failure(server: str) -> ApiError:
    """How a call to that server fails."""
    configuration = Configuration()
    configuration.host = server
    client = Api(ClientConfig(configuration, lambda _: None, "default"), connections=1, user_agent="test")
    with pytest.raises(ApiError) as failed:
        client.call("GET", "/version", read_seconds=0.5)
    client.close()
    return failed.value


def reset(peer: socket.socket) -> None:
    peer.recv(1)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    peer.close()


def cut_off(peer: socket.socket) -> None:
    peer.recv(4096)
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    peer.close()


@pytest.mark.parametrize(
    ("scheme", "peer", "kind", "words"),
    [
        ("http", reset, ErrorReason.UNREACHABLE, "the connection was broken off"),
        ("https", reset, ErrorReason.UNREACHABLE, "the connection was broken off"),
        ("http", cut_off, ErrorReason.UNREACHABLE, "the answer breaks off"),
        ("http", lambda peer: None, ErrorReason.TIMED_OUT, "no answer"),
        ("https", lambda peer: None, ErrorReason.TIMED_OUT, "no answer"),
        ("https", lambda peer: peer.sendall(b"HTTP/1.1 400\r\n\r\n"), ErrorReason.TLS_FAILED, "wrong version number"),
    ],
    ids=["reset", "reset with TLS", "cut off", "silent", "silent with TLS", "without TLS"],
)
def test_a_server_that_does_not_do_its_part(
    scheme: str, peer: Peer, kind: ErrorReason, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It is also the limit on the handshake.
    monkeypatch.setattr(api, "CONNECT_SECONDS", 0.5)
    with serving(peer) as port:
        server = f"{scheme}://127.0.0.1:{port}"
        failed = failure(server)
    assert (failed.reason, failed.message) == (kind, f"{server}: {words}")


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        server = f"https://127.0.0.1:{free.getsockname()[1]}"
    failed = failure(server)
    assert failed.reason is ErrorReason.UNREACHABLE
    assert str(failed) == f"the API server cannot be reached: {server}: the connection was refused"


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (socket.gaierror(-2, "Name or service not known"), ErrorReason.UNREACHABLE, "its name does not resolve"),
        (OSError(101, "Network is unreachable"), ErrorReason.UNREACHABLE, "Network is unreachable"),
        (TimeoutError("timed out"), ErrorReason.TIMED_OUT, "no connection"),
    ],
    ids=["name", "network", "time"],
)
def test_there_is_no_way_to_it(error: OSError, kind: ErrorReason, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(*_: object) -> object:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    failed = failure("https://api.example:6443")
    assert (failed.reason, failed.message) == (kind, f"https://api.example:6443: {words}")


def test_its_certificate_is_of_an_authority_that_nobody_told_us_of(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    made = issue_leaf(issue_ca(now, timedelta(days=30)), ["127.0.0.1"], now, timedelta(days=10))
    (tmp_path / "pair.pem").write_bytes(dump_certificates((made.certificate,)) + made.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "pair.pem")
    with serving(lambda peer: context.wrap_socket(peer, server_side=True).close()) as port:
        failed = failure(f"https://127.0.0.1:{port}")
    assert failed.reason is ErrorReason.UNTRUSTED
    assert "unable to get local issuer certificate" in failed.message
