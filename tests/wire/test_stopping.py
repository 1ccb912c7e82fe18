"""SIGTERM: not ready first, answering on, everything answered, exit code 0."""

import http.client
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.core import kit
from tests.wire.peers import answer, call, is_over
from tests.wire.process import Launcher, Served, review, wait_until


def drains(served: Served) -> bool:
    """It has had the signal."""
    return served.get("/readyz")[0] == 503


@pytest.mark.parametrize("workers", [1, 2])
def test_a_draining_server_is_not_ready_but_answers_and_ends_each_connection(launcher: Launcher, workers: int) -> None:
    with launcher.serving(f"--workers={workers}", settings={"drain_seconds": 5}) as served:
        wait_until(lambda: len(served.workers) == workers, "the workers")
        old = served.tls()
        old.sendall(call())
        assert b"keep-alive" in answer(old)[1]
        served.process.send_signal(signal.SIGTERM)
        wait_until(lambda: drains(served), "the drain")
        assert served.get("/healthz")[0] == 200
        for peer in (old, served.tls()):
            peer.sendall(call())
            status, header, _ = answer(peer)
            assert (status, b"Connection: close" in header) == (200, True)
            assert is_over(peer)
        assert served.process.wait(30) == 0
        assert served.said("stopped")


def test_a_stop_loses_no_review(launcher: Launcher) -> None:
    """Clients with a connection each, that never repeat a request, as the API server does not; they leave when they
    are told that the server drains."""
    with launcher.serving(settings={"drain_seconds": 5}) as served:
        failures: list[BaseException] = []
        answered: list[int] = []
        leave = threading.Event()

        def load(pause: float) -> None:
            client = served.client()
            count = 0
            try:
                while not leave.is_set():
                    review(client)
                    count += 1
                    time.sleep(pause)
            except BaseException as error:
                failures.append(error)
            answered.append(count)

        threads = [threading.Thread(target=load, args=(0.003 * index,)) for index in range(8)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(served.said("review")) > 100 or bool(failures), "some load")
        served.process.send_signal(signal.SIGTERM)
        wait_until(lambda: drains(served), "the drain")
        time.sleep(0.5)
        leave.set()
        for thread in threads:
            thread.join()
        assert served.process.wait(30) == 0
        assert not failures
        assert sum(answered) == len(served.said("review"))


def test_a_review_that_is_on_its_way_when_the_drain_ends_is_answered(launcher: Launcher) -> None:
    with launcher.serving(settings={"drain_seconds": 0.5}) as served:
        idle, half = served.tls(), served.tls()
        sent = call()
        half.sendall(sent[:-10])
        time.sleep(0.2)
        served.process.send_signal(signal.SIGTERM)
        assert is_over(idle)
        half.sendall(sent[-10:])
        assert answer(half)[0] == 200
        assert served.process.wait(30) == 0


def test_silent_peers_do_not_hold_up_a_stop(launcher: Launcher) -> None:
    with launcher.serving() as served:
        for _ in range(20):
            served.connect()
            served.tls()
        started = time.monotonic()
        assert served.stop() == 0
        # A handshake's limit is 5 s, an idle connection's 120.
        assert time.monotonic() - started < 10


def test_an_interrupt_stops_at_once(launcher: Launcher) -> None:
    with launcher.serving(settings={"drain_seconds": 60}) as served:
        review(served.client())
        started = time.monotonic()
        assert served.stop(signal.SIGINT) == 0
        assert time.monotonic() - started < 15


def test_an_interrupt_cuts_a_drain_short(launcher: Launcher) -> None:
    with launcher.serving(settings={"drain_seconds": 60}) as served:
        served.process.send_signal(signal.SIGTERM)
        wait_until(lambda: drains(served), "the drain")
        assert served.stop(signal.SIGINT) == 0


def test_a_worker_that_dies_is_replaced(launcher: Launcher) -> None:
    with launcher.serving() as served:
        (first,) = served.workers
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: served.workers not in ([], [first]), "another worker")
        client = http.client.HTTPSConnection(served.host, served.port, timeout=30, context=served.context)
        assert review(client, body=json.dumps(kit.body(kit.pod())).encode())["allowed"]
        client.close()


def test_workers_end_with_their_parent(launcher: Launcher) -> None:
    with launcher.serving() as served:
        (worker,) = served.workers
        served.process.kill()
        served.process.wait()
        wait_until(lambda: not Path(f"/proc/{worker}/exe").exists(), "the worker's end")


def test_a_stop_in_the_moment_of_the_start_is_not_lost(launcher: Launcher) -> None:
    """A worker that missed it would go on until it is killed, after the longest drain that is allowed."""
    launcher.before = "import os, time; fork = os.fork; os.fork = lambda: fork() or time.sleep(1) or 0"
    with launcher.serving(settings={"drain_seconds": 0}) as served:
        started = time.monotonic()
        assert served.stop() == 0
        assert time.monotonic() - started < 15
        assert served.said("stopped")
