"""Stop signals: the server fails /readyz, answers all requests, and exits with 0."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.wire.peers import is_closed, post_request, read_response
from tests.wire.server_process import NO_TIME_LIMITS, TIMEOUT_SECONDS, Launcher, RunningServer, post_review, wait_until


def is_draining(server: RunningServer) -> bool:
    return server.get("/readyz")[0] == 503


def start_drain(server: RunningServer) -> None:
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: is_draining(server), "the drain")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_draining_server_is_not_ready_answers_and_closes_each_connection(launcher: Launcher, workers: int) -> None:
    with launcher.serving(f"--workers={workers}", settings={"drain_seconds": 600}) as server:
        wait_until(lambda: len(server.workers) == workers, "the workers")
        old = server.tls()
        old.sendall(post_request())
        assert b"keep-alive" in read_response(old)[1]
        start_drain(server)
        assert server.get("/healthz")[0] == 200
        for peer in (old, server.tls()):
            peer.sendall(post_request())
            status, header, _ = read_response(peer)
            assert (status, b"Connection: close" in header) == (200, True)
            assert is_closed(peer)
        # A second signal ends the drain.
        assert server.stop(signal.SIGINT) == 0
        assert server.log_lines("stopped")


def test_a_drain_loses_no_review(launcher: Launcher) -> None:
    """Each client has one connection and never retries, as the API server. All leave once /readyz fails."""
    with launcher.serving(settings={"drain_seconds": 600}) as server:
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
        start_drain(server)
        time.sleep(0.5)
        leave.set()
        for thread in threads:
            thread.join()
        assert server.stop(signal.SIGINT) == 0
        assert not failures
        assert sum(answered) == len(server.log_lines("review"))


def test_a_partial_request_at_the_end_of_the_drain_is_answered(launcher: Launcher) -> None:
    launcher.prelude = NO_TIME_LIMITS
    with launcher.serving(settings={"drain_seconds": 0.5}) as server:
        idle, partial = server.tls(), server.tls()
        request = post_request()
        partial.sendall(request[:-10])
        time.sleep(0.2)
        server.process.send_signal(signal.SIGTERM)
        assert is_closed(idle)
        partial.sendall(request[-10:])
        assert read_response(partial)[0] == 200
        assert server.process.wait(TIMEOUT_SECONDS) == 0


def test_silent_peers_do_not_delay_a_stop(launcher: Launcher) -> None:
    launcher.prelude = NO_TIME_LIMITS
    with launcher.serving() as server:
        for _ in range(20):
            server.connect()
            server.tls()
        assert server.stop() == 0


def test_an_interrupt_stops_without_a_drain(launcher: Launcher) -> None:
    with launcher.serving(settings={"drain_seconds": 600}) as server:
        post_review(server.client())
        assert server.stop(signal.SIGINT) == 0


def test_a_worker_that_dies_is_replaced(launcher: Launcher) -> None:
    with launcher.serving() as server:
        (first,) = server.workers
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: server.workers not in ([], [first]), "a new worker")
        assert post_review(server.client())["allowed"]


def test_workers_exit_with_their_parent(launcher: Launcher) -> None:
    with launcher.serving() as server:
        (worker,) = server.workers
        server.process.kill()
        server.process.wait()
        wait_until(lambda: not Path(f"/proc/{worker}/exe").exists(), "the worker's exit")


def test_a_stop_during_the_fork_is_not_lost(launcher: Launcher) -> None:
    """The new worker sleeps for a second before it runs. If it missed the signal, it would run until the graceful
    timeout, which is longer than an hour here."""
    delayed_fork = "import os, time; fork = os.fork; os.fork = lambda: fork() or time.sleep(1) or 0"
    launcher.prelude = f"{NO_TIME_LIMITS}; {delayed_fork}"
    with launcher.serving(settings={"drain_seconds": 0}) as server:
        assert server.stop() == 0
        assert server.log_lines("stopped")
