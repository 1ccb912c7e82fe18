"""Slow, silent, faulty and vanished peers beside ordinary ones."""

import itertools
import json
import os
import time
from collections.abc import Callable

import pytest

from tests.wire.peers import (
    BODY,
    JSON,
    client_hello,
    count_accepted,
    is_closed,
    post_request,
    read_response,
    receive,
    reset,
    send_and_close,
)
from tests.wire.server_process import NO_TIME_LIMITS, TIMEOUT_SECONDS, Launcher, post_review, wait_until
from webhook.server import limits
from webhook.settings import Settings


def test_silent_peers_and_partial_requests_do_not_delay_others(launcher: Launcher) -> None:
    """Without time limits, a peer that blocks the worker blocks it until the test's own timeout."""
    launcher.prelude = NO_TIME_LIMITS
    with launcher.serving() as server:
        for index in range(256):
            peer = server.connect()
            if index % 2:
                peer.sendall(client_hello()[:100])
        for index in range(64):
            tls = server.tls()
            tls.sendall(post_request()[: -len(BODY) // 2] if index % 2 else b"POST /mutate HTTP/1.1\r\nHost:")
        reused = server.client()
        for _ in range(20):
            post_review(reused)
            post_review(server.client())
            assert server.get("/healthz")[0] == 200


def test_silent_peers_time_out(launcher: Launcher) -> None:
    with launcher.serving() as server:
        silent, partial_hello = server.connect(), server.connect()
        partial_header, partial_body = server.tls(), server.tls()
        partial_hello.sendall(client_hello()[:100])
        partial_header.sendall(b"POST /mutate HTTP/1.1\r\nHost:")
        partial_body.sendall(post_request()[:-10])
        assert is_closed(silent)
        assert is_closed(partial_hello)
        assert is_closed(partial_header)
        status, _, body = read_response(partial_body)
        assert (status, json.loads(body)) == (408, {"error": "the body did not arrive in time"})
        assert is_closed(partial_body)
        assert server.metric('modelfit_broken_connections_total{cause="handshake_timeout"}') == 2
        assert server.metric('modelfit_broken_connections_total{cause="request_timeout"}') == 1


def test_a_slow_request_times_out(launcher: Launcher) -> None:
    """The peer sends a byte every 0.2 s. Its request would take minutes."""
    with launcher.serving() as server:
        request = post_request(b" " * 1000)
        assert count_accepted(server.tls(), [bytes([byte]) for byte in request], pause=0.2) < len(request) / 2


def test_an_idle_connection_is_closed_after_keep_alive_seconds(launcher: Launcher) -> None:
    with launcher.serving(settings={"keep_alive_seconds": 6}) as server:
        peer = server.tls()
        peer.sendall(post_request())
        assert read_response(peer)[0] == 200
        time.sleep(2)
        started = time.monotonic()
        peer.sendall(post_request())
        assert read_response(peer)[0] == 200
        assert is_closed(peer)
        assert time.monotonic() - started > 6


def test_the_default_keep_alive_exceeds_the_idle_timeout_of_the_api_server() -> None:
    go_idle_connection_timeout = 90
    assert Settings().keep_alive_seconds > go_idle_connection_timeout


@pytest.mark.parametrize(
    ("status", "request_bytes"),
    [
        (404, post_request(b"x" * 20_000, path="/wrong")),
        (415, post_request(b"x" * 20_000, headers="Content-Type: text/plain\r\n")),
        (405, post_request(b"x" * 20_000).replace(b"POST", b"PUT")),
        (413, post_request(b"x" * (2 << 20))),
        (400, post_request(b"x" * 20_000)),
    ],
    ids=["path", "type", "method", "size", "body"],
)
def test_a_connection_is_usable_after_a_rejected_request(launcher: Launcher, status: int, request_bytes: bytes) -> None:
    with launcher.serving(settings={"max_review_mebibytes": 1}) as server:
        peer = server.tls()
        peer.sendall(request_bytes)
        code, header, body = read_response(peer)
        assert (code, b"keep-alive" in header) == (status, True)
        assert json.loads(body)["error"]
        peer.sendall(post_request())
        assert read_response(peer)[0] == 200


def test_a_chunked_body_is_read_up_to_the_maximum_size(launcher: Launcher) -> None:
    head = b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    with launcher.serving(settings={"max_review_mebibytes": 1}) as server:
        peer = server.tls()
        parts = [BODY[:7], BODY[7:]]
        peer.sendall(head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n")
        assert read_response(peer)[0] == 200
        peer.sendall(head + b"100000\r\n%b\r\n" % (b"x" * 0x100000) * 2 + b"0\r\n\r\n")
        assert read_response(peer)[0] == 413
        peer.sendall(post_request())
        assert read_response(peer)[0] == 200
        peer.sendall(head + b"nonsense\r\n")
        assert read_response(peer)[0] == 400
        assert is_closed(peer)


MALFORMED_CHUNKS = {
    "no size": b"ZZ\r\n",
    "an empty size": b"\r\n",
    "a negative size": b"-1\r\n",
    "an endless size": b"f" * 9000,
    "a malformed extension": b"5;\r\r\n",
    "more than its size": b"5\r\nabcdeXX",
    "a malformed trailer": b"0\r\nbad trailer\r\n\r\n",
}


def test_malformed_chunks_of_an_unused_body_close_the_connection(launcher: Launcher) -> None:
    """The response does not depend on the body. The server reads it to find the next request."""
    request_lines = {404: b"POST /wrong", 405: b"POST /healthz", 415: b"POST /mutate"}
    with launcher.serving() as server:
        for status, line in request_lines.items():
            for body in MALFORMED_CHUNKS.values():
                peer = server.tls()
                peer.sendall(line + b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
                assert read_response(peer)[0] == status
                assert is_closed(peer)
        count = len(request_lines) * len(MALFORMED_CHUNKS)
        wait_until(
            lambda: server.metric('modelfit_broken_connections_total{cause="request"}') == count,
            "the failed connections",
        )
        assert [line["msg"] for line in server.log_lines() if line["level"] == "error"] == []
        assert [line["status"] for line in server.log_lines("request rejected")] == [*request_lines]
        post_review(server.client())


def test_an_endless_body_gets_a_413_and_the_connection_is_closed(launcher: Launcher) -> None:
    with launcher.serving(settings={"max_review_mebibytes": 1}) as server:
        peer = server.tls()
        # The server reads the head of the body before it answers.
        peer.sendall(post_request(b"x" * 1024, length=1 << 40))
        assert read_response(peer)[0] == 413
        # The discarded part of the body, as much again in the lingering close, and socket buffers.
        assert count_accepted(peer, itertools.repeat(b"x" * 65536)) < 2 * limits.MAX_DISCARDED_BYTES + (16 << 20)
        post_review(server.client())


def test_a_client_that_sends_everything_before_it_reads_gets_its_413(launcher: Launcher) -> None:
    """Closing a socket with unread data resets the connection, and the response would be lost."""
    launcher.prelude = NO_TIME_LIMITS
    with launcher.serving(settings={"max_review_mebibytes": 1}) as server:
        peer = server.tls()
        peer.sendall(post_request(b"x" * (limits.MAX_DISCARDED_BYTES + (4 << 20))))
        assert read_response(peer)[0] == 413


def test_pipelined_requests_are_answered_in_order(launcher: Launcher) -> None:
    with launcher.serving() as server:
        peer = server.tls()
        peer.sendall(post_request() + post_request(path="/wrong") + post_request())
        data = b""
        while data.count(b"HTTP/1.1 ") < 3:
            data += receive(peer)
        assert [part.split()[0] for part in data.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200"]


def test_expect_100_continue_is_answered(launcher: Launcher) -> None:
    with launcher.serving() as server:
        peer = server.tls()
        peer.sendall(post_request(b"", headers=f"{JSON}Expect: 100-continue\r\n", length=len(BODY)))
        assert receive(peer) == b"HTTP/1.1 100 Continue\r\n\r\n"
        peer.sendall(BODY)
        assert read_response(peer)[0] == 200


def test_connection_close_and_http_1_0_close_the_connection(launcher: Launcher) -> None:
    with launcher.serving() as server:
        for request in (
            post_request(headers=f"{JSON}Connection: close\r\n"),
            post_request().replace(b"HTTP/1.1", b"HTTP/1.0"),
        ):
            peer = server.tls()
            peer.sendall(request)
            status, header, _ = read_response(peer)
            assert (status, b"Connection: close" in header) == (200, True)
            assert is_closed(peer)


def test_plain_http_gets_a_hint_at_https(launcher: Launcher) -> None:
    with launcher.serving() as server:
        peer = server.connect()
        peer.sendall(post_request())
        assert b"HTTPS only" in receive(peer)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\0" * 40 + b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n: x\r\n\r\n",
        b"G" * 20_000,
    ],
    ids=["zeros", "line", "version", "header", "endless"],
)
def test_invalid_http_gets_a_400_and_the_connection_is_closed(launcher: Launcher, request_bytes: bytes) -> None:
    with launcher.serving() as server:
        peer = server.tls()
        peer.sendall(request_bytes)
        status, _, body = read_response(peer)
        assert status == 400
        assert json.loads(body)["error"]
        assert is_closed(peer)
        assert server.metric('modelfit_broken_connections_total{cause="request"}') == 1


def test_noise_fails_no_review_kills_no_worker_and_fills_no_log(launcher: Launcher) -> None:
    with launcher.serving("--workers=2") as server:
        wait_until(lambda: len(server.workers) == 2, "the workers")
        workers, reused = server.workers, server.client()
        noise: list[Callable[[], None]] = [
            lambda: reset(server.connect()),
            lambda: send_and_close(server.connect(), post_request()),
            lambda: send_and_close(server.connect(), os.urandom(500)),
            lambda: send_and_close(server.connect(), client_hello()),
            lambda: reset(server.tls()),
            lambda: send_and_close(server.tls(), os.urandom(500)),
            lambda: send_and_close(server.tls(), post_request()[:-10]),
            lambda: send_and_close(server.tls(), post_request()),
            lambda: send_and_close(server.tls(), post_request(b"x" * (3 << 20))),
        ]
        for index in range(300):
            noise[index % len(noise)]()
            if not index % 10:
                post_review(reused, f"ordinary {index}")
        assert server.workers == workers
        uids = [line["uid"] for line in server.log_lines("review") if line["uid"].startswith("ordinary")]
        assert uids == [f"ordinary {index}" for index in range(0, 300, 10)]
        others = [line for line in server.log_lines() if line["msg"] != "review"]
        assert len(others) < 5, others
        assert server.metric('modelfit_broken_connections_total{cause="handshake"}') > 50


def test_connections_above_the_maximum_wait_for_others_to_time_out(launcher: Launcher) -> None:
    with launcher.serving(settings={"max_connections": 16}) as server:
        for _ in range(40):
            server.connect()
        post_review(server.client())


def test_connections_above_the_maximum_wait_for_others_to_close(launcher: Launcher) -> None:
    launcher.prelude = NO_TIME_LIMITS
    with launcher.serving(settings={"max_connections": 16}) as server:
        peers = [server.connect() for _ in range(40)]
        for peer in peers:
            peer.close()
        post_review(server.client())


def test_idle_connections_are_closed_early_when_the_worker_is_crowded(launcher: Launcher) -> None:
    with launcher.serving(settings={"max_connections": 16, "keep_alive_seconds": 600}) as server:
        for _ in range(16):
            server.tls()
        post_review(server.client())


def test_an_old_connection_is_closed_after_a_response(launcher: Launcher) -> None:
    launcher.prelude = "from webhook.server import limits; limits.MAX_CONNECTION_SECONDS = 1"
    with launcher.serving() as server:
        started = time.monotonic()
        peer = server.tls()
        header = b""
        while b"Connection: close" not in header:
            assert time.monotonic() < started + TIMEOUT_SECONDS
            peer.sendall(post_request())
            status, header, _ = read_response(peer)
            assert status == 200
        assert time.monotonic() - started > 1
        assert is_closed(peer)
