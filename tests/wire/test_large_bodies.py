"""Large bodies: the memory of a worker is bounded, and other requests are answered meanwhile."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.wire.peers import post_request, read_response, receive
from tests.wire.server_process import NO_TIME_LIMITS, Launcher, RunningServer, post_review
from webhook.server.body_reader import MAX_BUFFERED_BODIES, MAX_VALUES

MIB = 1 << 20
DEFAULT_MAX_BYTES = 8 * MIB

MAX_GROWTH_BYTES = 32 * DEFAULT_MAX_BYTES
"""Memory that peers can make a worker allocate. The chart's memory limit allows for it."""


def read_memory(server: RunningServer, field: str = "VmHWM") -> int:
    """Bytes of the worker's peak memory, or of another field of its status."""
    (worker,) = server.workers
    lines = Path(f"/proc/{worker}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{field}:"))


def empty_objects() -> bytes:
    """A body above the maximum number of values. Decoding it would take 250 MB."""
    return b"[" + b",".join([b"{}"] * (DEFAULT_MAX_BYTES // 3)) + b"]"


def most_expensive_body() -> bytes:
    """The maximum number of values, of the kind that takes most memory: objects with distinct keys and strings."""
    objects = (f'{{"k{number:x}":"\u0451{number:x}"}}' for number in range(MAX_VALUES // 2 - 8))
    return f'{{"a":[{",".join(objects)}]}}'.encode()


@contextmanager
def run_in_background(*loops: Callable[[threading.Event], None]) -> Iterator[None]:
    """Runs `loops` in threads until the end of the block, which sets their event."""
    stop = threading.Event()
    threads = [threading.Thread(target=loop, args=[stop]) for loop in loops]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_large_bodies_stay_within_the_memory_of_the_chart_limit(launcher: Launcher) -> None:
    launcher.prelude = NO_TIME_LIMITS
    with launcher.serving() as server:
        server.get("/readyz")
        idle = read_memory(server, "VmRSS")
        near_maximum = [DEFAULT_MAX_BYTES - 100] * (2 * MAX_BUFFERED_BODIES)
        for size in [DEFAULT_MAX_BYTES, *near_maximum, *[64 << 10] * 100]:
            server.tls().sendall(post_request(b" " * (size - 100), length=size))
        for body, status in ((empty_objects(), 413), (most_expensive_body(), 400)):
            for _ in range(3):
                peer = server.tls()
                peer.sendall(post_request(body))
                assert read_response(peer)[0] == status
        assert read_memory(server) - idle < MAX_GROWTH_BYTES
        post_review(server.client())


def test_reviews_and_probes_are_answered_beside_large_bodies(launcher: Launcher) -> None:
    launcher.prelude = NO_TIME_LIMITS
    with launcher.serving() as server:

        def attack(body: bytes, status: int) -> Callable[[threading.Event], None]:
            def loop(stop: threading.Event) -> None:
                while not stop.is_set():
                    peer = server.tls()
                    peer.sendall(post_request(body))
                    assert read_response(peer)[0] in (status, 503)
                    peer.close()

            return loop

        bodies = ((empty_objects(), 413), (most_expensive_body(), 400))
        with run_in_background(*[attack(body, status) for body, status in bodies for _ in range(3)]):
            client = server.client()
            for number in range(50):
                post_review(client, f"reused connection {number}")
                post_review(server.client(), f"new connection {number}")
                assert server.get("/readyz")[0] == 200
        statuses = {line["status"] for line in server.log_lines("request rejected")}
        assert statuses
        assert statuses <= {400, 413, 503}


def test_a_pipelining_peer_does_not_block_others(launcher: Launcher) -> None:
    """The peer sends requests without waiting for responses, and reads the responses as fast as they arrive."""
    launcher.prelude = NO_TIME_LIMITS
    with launcher.serving() as server:
        peer = server.tls()

        def send(stop: threading.Event) -> None:
            while not stop.is_set():
                peer.sendall(post_request() * 50)
            peer.sendall(post_request(headers="Content-Type: application/json\r\nConnection: close\r\n"))

        def receive_all(_: threading.Event) -> None:
            try:
                while True:
                    receive(peer)
            except (EOFError, OSError):
                return

        with run_in_background(send, receive_all):
            for number in range(20):
                post_review(server.client(), f"other {number}")
