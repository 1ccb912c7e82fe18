"""Server processes for measurements."""

import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import reviews
from benchmarks.client import receive


@dataclass(frozen=True)
class Running:
    """A server that answers. `start` is the seconds from its start to its first answer."""

    pid: int
    port: int
    start: float

    @property
    def workers(self) -> list[int]:
        """Process ids of its workers."""
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def cpu(self) -> float:
        """Seconds of CPU that its workers have used."""
        return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in self.workers) / 1e9

    def resident(self) -> float:
        """MiB of memory, of all its processes together; pages that they share count once."""
        return sum(_smaps(pid, "Pss") for pid in [self.pid, *self.workers]) / 1024

    def resident_of_worker(self) -> float:
        """MiB of the largest worker's RSS."""
        return max(_smaps(pid, "Rss") for pid in self.workers) / 1024


@contextmanager
def running(arguments: Sequence[str], port: int, authority: Path) -> Iterator[Running]:
    """`python -m` these arguments, from its first answer until the end of the block."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", *arguments], stderr=subprocess.DEVNULL)
    try:
        _first_answer(process, port, authority)
        yield Running(process.pid, port, time.perf_counter() - started)
    finally:
        process.terminate()
        process.wait(60)


def _first_answer(process: subprocess.Popen[bytes], port: int, authority: Path) -> None:
    context = ssl.create_default_context(cafile=authority)
    request = reviews.request(f"127.0.0.1:{port}", "/mutate")
    while True:
        try:
            plain = socket.create_connection(("127.0.0.1", port), 30)
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as tls:
                tls.sendall(request)
                receive(tls)
                return
        except ConnectionRefusedError:
            if process.poll() is not None:
                raise RuntimeError(f"it ended with {process.returncode}") from None
            time.sleep(0.005)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _smaps(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise RuntimeError(f"no {field}")
