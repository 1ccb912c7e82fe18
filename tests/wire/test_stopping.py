"""SIGTERM: not ready first, answering on, everything answered, exit code 0."""

import http.client
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.core import builders
from tests.wire.peers import is_closed, post_request, read_response
from tests.wire.server_process import Launcher, RunningServer, post_review, wait_until


def drains(server: RunningServer) -> bool:
    """It has had the signal."""
    return server.get("/readyz")[0] == 503


@pytest.mark.parametrize("workers", [1, 2])
def test_a_draining_server_is_not_ready_but_answers_and_ends_each_connection(launcher: Launcher, workers: int) -> None:
    with launcher.serving(f"--workers={workers}", settings={"drain_seconds": 5}) as server:
        wait_until(lambda: len(server.workers) == workers, "the workers")
        old = server.tls()
        old.sendall(post_request())
        assert b"keep-alive" in read_response(old)[1]
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: drains(server), "the drain")
        assert server.get("/healthz")[0] == 200
        for peer in (old, server.tls()):
            peer.sendall(post_request())
            status, header, _ = read_response(peer)
            assert (status, b"Connection: close" in header) == (200, True)
            assert is_closed(peer)
        assert server.process.wait(30) == 0
        assert server.log_lines("stopped")


def test_a_stop_loses_no_review(launcher: Launcher) -> None:
    """Clients with a connection each, that never repeat a request, as the API server does not; they leave when they
    are told that the server drains."""
    with launcher.serving(settings={"drain_seconds": 5}) as server:
        failures: list[BaseException] = []
        answered: list[int] = []
        leave = threading.Event()

        def load(pause: float) -> None:
            client = server.client()
            count = 0
            try:
                while not leave.is_set():
                    post_review(client)
                    count += 1
                    time.sleep(pause)
            except BaseException as error:
                failures.append(error)
            answered.append(count)

        threads = [threading.Thread(target=load, args=(0.003 * index,)) for index in range(8)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(server.log_lines("review")) > 100 or bool(failures), "some load")
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: drains(server), "the drain")
        time.sleep(0.5)
        leave.set()
        for thread in threads:
            thread.join()
        assert server.process.wait(30) == 0
        assert not failures
        assert sum(answered) == len(server.log_lines("review"))


def test_a_review_that_is_on_its_way_when_the_drain_ends_is_answered(launcher: Launcher) -> None:
    with launcher.serving(settings={"drain_seconds": 0.5}) as server:
        idle, half = server.tls(), server.tls()
        sent = post_request()
        half.sendall(sent[:-10])
        time.sleep(0.2)
        server.process.send_signal(signal.SIGTERM)
        assert is_closed(idle)
        half.sendall(sent[-10:])
        assert read_response(half)[0] == 200
        assert server.process.wait(30) == 0


def test_silent_peers_do_not_hold_up_a_stop(launcher: Launcher) -> None:
    with launcher.serving() as server:
        for _ in range(20):
            server.connect()
            server.tls()
        started = time.monotonic()
        assert server.stop() == 0
        # A handshake's limit is 5 s, an idle connection's 120.
        assert time.monotonic() - started < 10


def test_an_interrupt_stops_at_once(launcher: Launcher) -> None:
    with launcher.serving(settings={"drain_seconds": 60}) as server:
        post_review(server.client())
        started = time.monotonic()
        assert server.stop(signal.SIGINT) == 0
        assert time.monotonic() - started < 15


def test_an_interrupt_cuts_a_drain_short(launcher: Launcher) -> None:
    with launcher.serving(settings={"drain_seconds": 60}) as server:
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: drains(server), "the drain")
        assert server.stop(signal.SIGINT) == 0


def test_a_worker_that_dies_is_replaced(launcher: Launcher) -> None:
    with launcher.serving() as server:
        (first,) = server.workers
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: server.workers not in ([], [first]), "another worker")
        client = http.client.HTTPSConnection(server.host, server.port, timeout=30, context=server.context)
        assert post_review(client, body=json.dumps(builders.body(builders.pod())).encode())["allowed"]
        client.close()


def test_workers_end_with_their_parent(launcher: Launcher) -> None:
    with launcher.serving() as server:
        (worker,) = server.workers
        server.process.kill()
        server.process.wait()
        wait_until(lambda: not Path(f"/proc/{worker}/exe").exists(), "the worker's end")


def test_a_stop_in_the_moment_of_the_start_is_not_lost(launcher: Launcher) -> None:
    """A worker that missed it would go on until it is killed, after the longest drain that is allowed."""
    launcher.prelude = "import os, time; fork = os.fork; os.fork = lambda: fork() or time.sleep(1) or 0"
    with launcher.serving(settings={"drain_seconds": 0}) as server:
        started = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - started < 15
        assert server.log_lines("stopped")
