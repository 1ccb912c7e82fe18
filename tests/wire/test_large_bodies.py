"""Peers that send much, beside ordinary ones: what a worker may come to hold, and whether it still answers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.wire.peers import post_request, read_response, receive
from tests.wire.server_process import Launcher, RunningServer, post_review
from webhook.server.body_reader import MAX_BUFFERED_BODIES, MAX_VALUES

MIB = 1 << 20
LARGEST = 8 * MIB
"""The setting's default."""

MEMORY = 32 * LARGEST
"""What a worker may take more than when idle, whatever its peers send: the chart's limit is for that."""


def memory(server: RunningServer, name: str = "VmHWM") -> int:
    """Bytes of the one worker: the peak so far, or those of now."""
    (worker,) = server.workers
    lines = Path(f"/proc/{worker}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def brackets() -> bytes:
    """Nothing but empty objects: undone it was 250 MB."""
    return b"[" + b",".join([b"{}"] * (LARGEST // 3)) + b"]"


def worst() -> bytes:
    """As many values as there may be, and of the kind that takes most: objects with keys and texts of their own."""
    texts = (f'{{"k{number:x}":"\u0451{number:x}"}}' for number in range(MAX_VALUES // 2 - 8))
    return f'{{"a":[{",".join(texts)}]}}'.encode()


@contextmanager
def beside(*loops: Callable[[threading.Event], None]) -> Iterator[None]:
    """Runs them until the end of the block."""
    over = threading.Event()
    threads = [threading.Thread(target=loop, args=[over]) for loop in loops]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_large_bodies_cost_a_worker_no_more_than_it_may_take(launcher: Launcher) -> None:
    with launcher.serving() as server:
        server.get("/readyz")
        idle = memory(server, "VmRSS")
        stalled = []
        for size in [LARGEST, *[LARGEST - 100] * (2 * MAX_BUFFERED_BODIES), *[64 << 10] * 100]:
            peer = server.tls()
            peer.sendall(post_request(b" " * (size - 100), length=size))
            stalled.append(peer)
        for body, status in ((brackets(), 413), (worst(), 400)):
            for _ in range(3):
                peer = server.tls()
                peer.sendall(post_request(body))
                assert read_response(peer)[0] == status
        assert memory(server) - idle < MEMORY
        post_review(server.client())


def test_small_reviews_and_probes_are_answered_beside_large_bodies(launcher: Launcher) -> None:
    """Each of them; how soon, only a machine of one's own can say."""
    with launcher.serving() as server:

        def attack(body: bytes, status: int) -> Callable[[threading.Event], None]:
            def loop(over: threading.Event) -> None:
                while not over.is_set():
                    peer = server.tls()
                    peer.sendall(post_request(body))
                    assert read_response(peer)[0] in (status, 503)
                    peer.close()

            return loop

        attacks = [attack(body, status) for body, status in ((brackets(), 413), (worst(), 400)) for _ in range(3)]
        with beside(*attacks):
            kept = server.client()
            for number in range(50):
                post_review(kept, f"kept {number}")
                post_review(server.client(), f"new {number}")
                assert server.get("/readyz")[0] == 200
        refused = {line["status"] for line in server.log_lines("refused a post_request")}
        assert refused <= {400, 413, 503}


def test_a_peer_that_sends_without_end_does_not_have_the_worker_to_itself(launcher: Launcher) -> None:
    """One review after the other, in one stream, whose answers it takes as fast as they come."""
    with launcher.serving() as server:
        peer = server.tls()

        def send(over: threading.Event) -> None:
            while not over.is_set():
                peer.sendall(post_request() * 50)
            peer.sendall(post_request(headers="Content-Type: application/json\r\nConnection: close\r\n"))

        def take(over: threading.Event) -> None:
            try:
                while True:
                    receive(peer)
            except (EOFError, OSError):
                return

        with beside(send, take):
            for number in range(20):
                post_review(server.client(), f"other {number}")
