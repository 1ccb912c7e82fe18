"""Peers that are slow, silent, wrong or gone, beside ordinary ones."""

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
from tests.wire.server_process import TIMEOUT_SECONDS, Launcher, RunningServer, post_review, wait_until
from webhook.server import limits
from webhook.settings import Settings


def slowest(server: RunningServer, rounds: int = 20) -> float:
    """Seconds of the slowest of ordinary reviews and probes, over connections old and new."""
    kept = server.client()
    worst = 0.0
    for _ in range(rounds):
        for step in (lambda: post_review(kept), lambda: post_review(server.client()), lambda: server.get("/healthz")):
            started = time.monotonic()
            step()
            worst = max(worst, time.monotonic() - started)
    return worst


def test_silent_peers_and_half_requests_delay_nobody(launcher: Launcher) -> None:
    """The bound is the promise itself: a second, where it would be thirty if one of them held a worker."""
    with launcher.serving() as server:
        half = client_hello()[:100]
        for index in range(256):
            peer = server.connect()
            if index % 2:
                peer.sendall(half)
        for index in range(64):
            tls = server.tls()
            tls.sendall(post_request()[: -len(BODY) // 2] if index % 2 else b"POST /mutate HTTP/1.1\r\nHost:")
        assert slowest(server) < 1.0


def test_peers_that_say_nothing_are_ended(launcher: Launcher) -> None:
    with launcher.serving() as server:
        silent, half_hello, half_header, half_body = server.connect(), server.connect(), server.tls(), server.tls()
        half_hello.sendall(client_hello()[:100])
        half_header.sendall(b"POST /mutate HTTP/1.1\r\nHost:")
        half_body.sendall(post_request()[:-10])
        assert is_closed(silent)
        assert is_closed(half_hello)
        assert is_closed(half_header)
        status, _, body = read_response(half_body)
        assert (status, json.loads(body)) == (408, {"error": "the body did not arrive in time"})
        assert is_closed(half_body)
        assert server.metric('modelfit_broken_connections_total{cause="handshake_timeout"}') == 2
        assert server.metric('modelfit_broken_connections_total{cause="request_timeout"}') == 1


def test_a_peer_that_sends_a_byte_now_and_then_is_ended_too(launcher: Launcher) -> None:
    with launcher.serving() as server:
        peer = server.tls()
        started = time.monotonic()
        sent = post_request(b" " * 1000)
        assert count_accepted(peer, [bytes([byte]) for byte in sent], pause=0.2) < len(sent)
        assert time.monotonic() - started < TIMEOUT_SECONDS


def test_an_idle_connection_is_kept_for_the_time_that_is_set(launcher: Launcher) -> None:
    with launcher.serving(settings={"keep_alive_seconds": 2}) as server:
        peer = server.tls()
        peer.sendall(post_request())
        assert read_response(peer)[0] == 200
        time.sleep(1.5)
        peer.sendall(post_request())
        assert read_response(peer)[0] == 200
        started = time.monotonic()
        assert is_closed(peer)
        assert time.monotonic() - started > 1.5


def test_by_default_it_is_kept_longer_than_the_api_server_keeps_its_own() -> None:
    go_idle_connection_timeout = 90
    assert Settings().keep_alive_seconds > go_idle_connection_timeout


@pytest.mark.parametrize(
    ("status", "sent"),
    [
        (404, post_request(b"x" * 20_000, path="/wrong")),
        (415, post_request(b"x" * 20_000, headers="Content-Type: text/plain\r\n")),
        (405, post_request(b"x" * 20_000).replace(b"POST", b"PUT")),
        (413, post_request(b"x" * (2 << 20))),
        (400, post_request(b"x" * 20_000)),
    ],
    ids=["path", "type", "method", "size", "body"],
)
def test_after_a_refused_call_the_connection_is_usable(launcher: Launcher, status: int, sent: bytes) -> None:
    with launcher.serving(settings={"max_review_mebibytes": 1}) as server:
        peer = server.tls()
        peer.sendall(sent)
        code, header, body = read_response(peer)
        assert (code, b"keep-alive" in header) == (status, True)
        assert json.loads(body)["error"]
        peer.sendall(post_request())
        assert read_response(peer)[0] == 200


def test_a_chunked_body_is_read_and_bounded(launcher: Launcher) -> None:
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


BROKEN = {
    "no size": b"ZZ\r\n",
    "an empty size": b"\r\n",
    "a size below zero": b"-1\r\n",
    "a size without end": b"f" * 9000,
    "a broken extension": b"5;\r\r\n",
    "more than its size": b"5\r\nabcdeXX",
    "a broken trailer": b"0\r\nbad trailer\r\n\r\n",
}
"""Bodies in chunks that are none."""


def test_a_broken_body_that_nobody_wanted_is_its_peers_fault(launcher: Launcher) -> None:
    """A body is also read where the answer does not depend on it: the next request follows it."""
    wrong = {404: b"POST /wrong", 405: b"POST /healthz", 415: b"POST /mutate"}
    with launcher.serving() as server:
        for status, line in wrong.items():
            for body in BROKEN.values():
                peer = server.tls()
                peer.sendall(line + b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
                assert read_response(peer)[0] == status
                assert is_closed(peer)
        count = len(wrong) * len(BROKEN)
        wait_until(
            lambda: server.metric('modelfit_broken_connections_total{cause="request"}') == count, "the broken ones"
        )
        assert [line["msg"] for line in server.log_lines() if line["level"] == "error"] == []
        assert [line["status"] for line in server.log_lines("refused a post_request")] == [*wrong]
        post_review(server.client())


def test_a_body_that_never_ends_gets_its_413_and_costs_the_connection(launcher: Launcher) -> None:
    with launcher.serving(settings={"max_review_mebibytes": 1}) as server:
        peer = server.tls()
        peer.sendall(post_request(b"", length=1 << 40))
        assert read_response(peer)[0] == 413
        # What the limits allow, the farewell's part, and what buffers on the way hold.
        assert count_accepted(peer, itertools.repeat(b"x" * 65536)) < 2 * limits.MAX_DISCARDED_BYTES + (16 << 20)
        post_review(server.client())


def test_a_client_that_sends_it_all_before_it_reads_still_gets_its_413(launcher: Launcher) -> None:
    """Closed with unread bytes, the server's kernel would reset the connection and throw the answer away."""
    with launcher.serving(settings={"max_review_mebibytes": 1}) as server:
        peer = server.tls()
        peer.sendall(post_request(b"x" * (limits.MAX_DISCARDED_BYTES + (4 << 20))))
        assert read_response(peer)[0] == 413


def test_requests_that_are_sent_at_once_are_answered_in_turn(launcher: Launcher) -> None:
    with launcher.serving() as server:
        peer = server.tls()
        peer.sendall(post_request() + post_request(path="/wrong") + post_request())
        data = b""
        while data.count(b"HTTP/1.1 ") < 3:
            data += receive(peer)
        assert [part.split()[0] for part in data.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200"]


def test_a_client_that_asks_first_is_told_to_continue(launcher: Launcher) -> None:
    with launcher.serving() as server:
        peer = server.tls()
        peer.sendall(post_request(b"", headers=f"{JSON}Expect: 100-continue\r\n", length=len(BODY)))
        assert receive(peer) == b"HTTP/1.1 100 Continue\r\n\r\n"
        peer.sendall(BODY)
        assert read_response(peer)[0] == 200


def test_connection_close_and_http_1_0_are_honoured(launcher: Launcher) -> None:
    with launcher.serving() as server:
        for sent in (
            post_request(headers=f"{JSON}Connection: close\r\n"),
            post_request().replace(b"HTTP/1.1", b"HTTP/1.0"),
        ):
            peer = server.tls()
            peer.sendall(sent)
            status, header, _ = read_response(peer)
            assert (status, b"Connection: close" in header) == (200, True)
            assert is_closed(peer)


def test_plain_http_is_told_that_the_port_speaks_https(launcher: Launcher) -> None:
    with launcher.serving() as server:
        peer = server.connect()
        peer.sendall(post_request())
        assert b"HTTPS only" in receive(peer)


@pytest.mark.parametrize(
    "sent",
    [
        b"\0" * 40 + b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n: x\r\n\r\n",
        b"G" * 20_000,
    ],
    ids=["zeros", "line", "version", "header", "endless"],
)
def test_what_is_no_http_gets_a_400_and_costs_the_connection(launcher: Launcher, sent: bytes) -> None:
    with launcher.serving() as server:
        peer = server.tls()
        peer.sendall(sent)
        status, _, body = read_response(peer)
        assert status == 400
        assert json.loads(body)["error"]
        assert is_closed(peer)
        assert server.metric('modelfit_broken_connections_total{cause="request"}') == 1


def test_noise_harms_no_review_no_worker_and_fills_no_log(launcher: Launcher) -> None:
    with launcher.serving("--workers=2") as server:
        wait_until(lambda: len(server.workers) == 2, "the workers")
        workers, kept = server.workers, server.client()
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
                post_review(kept, f"ordinary {index}")
        assert server.workers == workers
        uids = [line["uid"] for line in server.log_lines("review") if line["uid"].startswith("ordinary")]
        assert uids == [f"ordinary {index}" for index in range(0, 300, 10)]
        others = [line for line in server.log_lines() if line["msg"] != "review"]
        assert len(others) < 5, others
        assert server.metric('modelfit_broken_connections_total{cause="handshake"}') > 50


def test_more_connections_than_there_may_be_wait_and_are_served_later(launcher: Launcher) -> None:
    with launcher.serving(settings={"max_connections": 16}) as server:
        crowd = [server.connect() for _ in range(40)]
        # They are ended when their handshakes take too long; the review's own turn comes after that.
        post_review(server.client())
        for peer in crowd:
            peer.close()
        assert slowest(server, 3) < 5.0


def test_idle_connections_make_room_when_there_are_many(launcher: Launcher) -> None:
    """They are kept for two minutes otherwise; the review waits for no more than a few seconds."""
    with launcher.serving(settings={"max_connections": 16}) as server:
        for _ in range(16):
            server.tls()
        assert slowest(server, 1) < TIMEOUT_SECONDS / 2


def test_a_connection_is_ended_with_an_answer_when_it_is_old(launcher: Launcher) -> None:
    launcher.prelude = "from webhook.server import limits; limits.MAX_CONNECTION_SECONDS = 1"
    with launcher.serving() as server:
        peer = server.tls()
        peer.sendall(post_request())
        assert b"keep-alive" in read_response(peer)[1]
        time.sleep(1.2)
        peer.sendall(post_request())
        status, header, _ = read_response(peer)
        assert (status, b"Connection: close" in header) == (200, True)
        assert is_closed(peer)
