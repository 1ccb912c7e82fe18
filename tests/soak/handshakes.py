"""Unfinished TLS handshakes must not keep the API server out: `make soak-handshakes PEERS=n`, or
`python -m tests.soak.handshakes`.

n connections send the first 8 bytes of a ClientHello and wait; each is opened again when it is closed. Measured before
and with them, over the same server: the time of a review on a new connection, and of one on a connection that is kept.
"""

import os
import selectors
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from testbed.latency import percentile
from tests.wire.certificates import CertificateAuthority, SecretMount
from tests.wire.peers import client_hello
from tests.wire.server_process import Launcher, RunningServer, post_review

SAMPLES = 100
MAX_REOPENED_PER_SECOND = 3000


class HalfOpenPeers:
    """Keeps `count` connections open with an unfinished handshake, inside the `with`."""

    def __init__(self, port: int, count: int) -> None:
        self._address = ("127.0.0.1", port)
        self._count = count
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.opened = 0

    def __enter__(self) -> "HalfOpenPeers":
        self._thread.start()
        while self.opened < self._count:
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        hello = client_hello()[:8]
        with selectors.DefaultSelector() as selector:
            while not self._stop.is_set():
                for _ in range(min(self._count - len(selector.get_map()), MAX_REOPENED_PER_SECOND // 10)):
                    peer = socket.create_connection(self._address)
                    peer.sendall(hello)
                    selector.register(peer, selectors.EVENT_READ)
                    self.opened += 1
                for key, _ in selector.select(0.1):
                    closed = key.fileobj
                    assert isinstance(closed, socket.socket)
                    selector.unregister(closed)
                    closed.close()
            for key in list(selector.get_map().values()):
                assert isinstance(key.fileobj, socket.socket)
                key.fileobj.close()


def measure(server: RunningServer) -> dict[str, list[float]]:
    """Seconds of reviews, in order of size."""
    kept = server.client()
    post_review(kept)

    def on_new_connection() -> None:
        client = server.client()
        post_review(client)
        client.close()

    calls: dict[str, Callable[[], object]] = {
        "new connection": on_new_connection,
        "kept connection": lambda: post_review(kept),
    }
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(SAMPLES):
        for name, call in calls.items():
            started = time.monotonic()
            call()
            seconds[name].append(time.monotonic() - started)
    return {name: sorted(found) for name, found in seconds.items()}


def main(peers: int) -> int:
    """Prints both measurements and their ratios. Exit code 1 if a review failed."""
    ca = CertificateAuthority()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tls").mkdir()
        mount = SecretMount(folder / "tls")
        mount.update(ca.issue("server"))
        (folder / "ca.crt").write_bytes(ca.certificate())
        with Launcher(mount.certificate, mount.key, folder / "ca.crt", folder).serving() as server:
            quiet = measure(server)
            with HalfOpenPeers(server.port, peers) as flood:
                flooded = measure(server)
                print(f"{peers} unfinished handshakes, {flood.opened} opened in all")
    for call in quiet:
        for part in (50, 99):
            before, beside = percentile(quiet[call], part), percentile(flooded[call], part)
            print(
                f"{call}, p{part}: quiet {before * 1000:.1f} ms, flooded {beside * 1000:.1f} ms, "
                f"ratio {beside / before:.1f}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(int(os.environ.get("PEERS", "3000"))))
