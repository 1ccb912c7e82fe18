"""The controller's probes and metrics over HTTP."""

import contextlib
import http.client
import logging
import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPResponse

import pytest

from testbed.waiting import wait_for
from webhook.controller import probes
from webhook.controller.probes import Probes


class FakeController:
    """A controller whose readiness error and note the test sets."""

    def __init__(self) -> None:
        self.error = ""
        self.note = ""

    def check(self) -> str:
        if self.error == "a bug":
            raise ZeroDivisionError
        return self.error


@pytest.fixture
def controller() -> FakeController:
    return FakeController()


@pytest.fixture
def port(controller: FakeController) -> Iterator[int]:
    served = Probes("127.0.0.1", 0, lambda: "", controller.check, lambda: controller.note)
    yield served.port
    served.close()


def request(port: int, method: str, path: str) -> tuple[HTTPResponse, str]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    client.request(method, path)
    answer = client.getresponse()
    text = answer.read().decode()
    client.close()
    return answer, text


def send(port: int, data: bytes) -> bytes:
    """Everything that the server sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), 30) as peer:
        peer.sendall(data)
        return b"".join(iter(lambda: peer.recv(4096), b""))


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/healthz", 200, "ok\n"),
        ("/readyz", 503, "not listed yet: pods\n"),
        ("/readyz?verbose", 503, "not listed yet: pods\n"),
        ("/else", 404, "want one of /healthz, /readyz, /metrics\n"),
    ],
)
def test_a_response_has_a_length_and_no_server_header(
    path: str, status: int, text: str, port: int, controller: FakeController
) -> None:
    controller.error = "not listed yet: pods"
    answer, body = request(port, "GET", path)
    assert (answer.status, body) == (status, text)
    assert answer.version == 11
    assert answer.headers["Content-Length"] == str(len(text))
    assert answer.headers["Connection"] == "close"
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert "Server" not in answer.headers


def test_a_note_is_in_readyz_and_leaves_it_ready(port: int, controller: FakeController) -> None:
    controller.note = "ready, but"
    answers = {path: request(port, "GET", path) for path in ("/healthz", "/readyz")}
    assert {path: (answer.status, text) for path, (answer, text) in answers.items()} == {
        "/healthz": (200, "ok\n"),
        "/readyz": (200, "ready, but\n"),
    }
    controller.error = "not listed yet: pods"
    answer, text = request(port, "GET", "/readyz")
    assert (answer.status, text) == (503, "not listed yet: pods\n")


def test_metrics_are_in_the_text_format_of_prometheus(port: int) -> None:
    answer, text = request(port, "GET", "/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    assert "modelfit_leader" in text


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"])
@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/else"])
def test_another_method_is_a_405_that_allows_get(path: str, method: str, port: int) -> None:
    answer, text = request(port, method, path)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET")
    assert text == ("" if method == "HEAD" else "want GET\n")
    assert "Server" not in answer.headers


def test_head_gets_no_body(port: int) -> None:
    assert send(port, b"HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n").endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    "data",
    [b"GET / HTTP/9.9\r\n\r\n", b"<script>\r\n\r\n", b"GET / HTTP/<script>\r\n\r\n", b"GET /" + b"x" * 70_000],
    ids=["version", "line", "odd version", "too long"],
)
def test_a_malformed_request_is_not_repeated_in_the_response(data: bytes, port: int) -> None:
    response = send(port, data)
    assert b"script" not in response
    assert b"Server" not in response
    assert b"Python" not in response


def test_a_closed_connection_is_not_logged(
    port: int, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(20):
        peer = socket.create_connection(("127.0.0.1", port), 30)
        peer.sendall(b"GET /metrics HTTP/1.1\r\n")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        peer.close()
    assert request(port, "GET", "/healthz")[0].status == 200
    time.sleep(0.2)
    assert capfd.readouterr().err == ""
    assert caplog.records == []


def test_an_exception_is_logged(
    port: int, controller: FakeController, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    controller.error = "a bug"
    with caplog.at_level(logging.ERROR):
        assert send(port, b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n") == b""
    assert [(record.name, record.getMessage()) for record in caplog.records] == [
        ("modelfit.probes", "failed to answer a probe")
    ]
    assert capfd.readouterr().err == ""


@contextlib.contextmanager
def slow_peers(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Connections that send a byte of a request every 0.2 seconds."""
    peers: list[socket.socket] = []
    done = threading.Event()

    def send_slowly() -> None:
        while not done.wait(0.2):
            for peer in peers:
                with contextlib.suppress(OSError):
                    peer.send(b"G")

    thread = threading.Thread(target=send_slowly)
    # Before they connect: a peer that is silent for long is disconnected anyway.
    thread.start()
    try:
        peers.extend(socket.create_connection(("127.0.0.1", port), 30) for _ in range(count))
        yield peers
    finally:
        done.set()
        thread.join()
        for peer in peers:
            peer.close()


def test_slow_peers_occupy_a_bounded_number_of_threads_and_do_not_delay_probes(port: int) -> None:
    before = threading.active_count()
    with slow_peers(port, 400):
        for _ in range(20):
            assert request(port, "GET", "/healthz")[0].status == 200
            # Its own thread, and the sender's.
            assert threading.active_count() <= before + probes.MAX_CONNECTIONS + 2


def test_a_connection_has_a_deadline_however_often_its_peer_sends(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "CONNECTION_SECONDS", 1.0)
    with slow_peers(port, 3) as peers:
        for peer in peers:
            # The server closes it: the end of the stream, or a reset because of unread bytes.
            peer.settimeout(20)
            with contextlib.suppress(ConnectionError):
                assert peer.recv(1) == b""


def test_a_peer_that_does_not_read_its_response_is_disconnected(
    controller: FakeController, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "CONNECTION_SECONDS", 1.0)
    before = threading.active_count()
    controller.error = "x" * 20_000_000
    with socket.create_connection(("127.0.0.1", port), 30) as peer:
        peer.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_for("the thread runs", lambda: threading.active_count() > before)
        wait_for("the thread has ended", lambda: threading.active_count() == before)
