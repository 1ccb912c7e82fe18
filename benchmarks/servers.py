"""Server processes and their CPU time and memory."""

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
class RunningServer:
    """A server that is ready. `startup_seconds` is the time from its start to its first response."""

    pid: int
    port: int
    startup_seconds: float

    @property
    def workers(self) -> list[int]:
        """Process ids of the workers."""
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def cpu_seconds(self) -> float:
        """CPU time of the workers."""
        return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in self.workers) / 1e9

    def memory_mib(self) -> float:
        """Memory of all processes (PSS: shared pages count once)."""
        return sum(_memory_kib(pid, "Pss") for pid in [self.pid, *self.workers]) / 1024

    def worker_memory_mib(self) -> float:
        """RSS of the largest worker."""
        return max(_memory_kib(pid, "Rss") for pid in self.workers) / 1024


@contextmanager
def running(arguments: Sequence[str], port: int, ca_file: Path) -> Iterator[RunningServer]:
    """Runs `python -m` with these arguments until the end of the block; yields after the first response."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", *arguments], stderr=subprocess.DEVNULL)
    try:
        _wait_for_response(process, port, ca_file)
        yield RunningServer(process.pid, port, time.perf_counter() - started)
    finally:
        process.terminate()
        process.wait(60)


def _wait_for_response(process: subprocess.Popen[bytes], port: int, ca_file: Path) -> None:
    context = ssl.create_default_context(cafile=ca_file)
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
                raise RuntimeError(f"the server exited with {process.returncode}") from None
            time.sleep(0.005)


def free_port() -> int:
    """A port of 127.0.0.1 that is not in use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _memory_kib(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise RuntimeError(f"no {field}")
