"""Throughput of the webhook compared with bare Flask. `python -m benchmarks.webhook` takes a minute and a half.

All servers run under gunicorn with the same settings (TLS, keep-alive, number of workers). One client measures them in
turns of a second, so that other load on the machine affects all of them. The webhook answers a 7 KB review of an
annotated pod, with log level `info`. Bare Flask returns a constant and does not read the request; it runs in this
project's worker and in gunicorn's gevent worker.

Prints the rates, the CPU time of a request, and the ratio of the webhook's rate to the others, then the webhook's
startup time and memory.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from benchmarks.servers import RunningServer, free_port, running
from testbed.certificates import Pair, mint

ROUNDS = 15
CONNECTIONS = 8
REVIEWS = 10_000


class Client:
    """The process of the load generator."""

    def __init__(self, commands: IO[str], results: IO[str]) -> None:
        self._commands, self._results = commands, results

    def drive(self, server: RunningServer, seconds: float) -> tuple[int, float]:
        """The number of responses and the time that they took."""
        self._commands.write(f"{server.port} {seconds}\n")
        self._commands.flush()
        responses, elapsed = self._results.readline().split()
        return int(responses), float(elapsed)


@contextmanager
def start_client(ca_file: Path) -> Iterator[Client]:
    """A load generator until the end of the block."""
    command = [sys.executable, "-m", "benchmarks.client", str(ca_file), str(CONNECTIONS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Client(process.stdin, process.stdout)
        process.stdin.close()


def compare(pair: Pair, workers: int) -> None:
    """Prints for each server the rate, the CPU time of a request, and the ratio of the webhook's rate to it."""
    tls = ["--cert", str(pair.certificate), "--key", str(pair.key)]
    bare = [str(pair.certificate), str(pair.key), str(workers)]
    print(f"{workers} worker{'s' * (workers > 1)}, {CONNECTIONS} connections, {ROUNDS} rounds (medians)")
    with ExitStack() as stack:
        ports = [free_port() for _ in range(3)]
        commands = {
            "webhook": ["webhook.cli", "serve", "--host=127.0.0.1", f"--port={ports[0]}", f"--workers={workers}", *tls],
            "bare Flask, this worker": ["benchmarks.bare", str(ports[1]), *bare],
            "bare Flask, gunicorn's gevent worker": ["benchmarks.bare", str(ports[2]), *bare, "STOCK"],
        }
        servers = {
            name: stack.enter_context(running(command, port, pair.ca))
            for (name, command), port in zip(commands.items(), ports, strict=True)
        }
        driver = stack.enter_context(start_client(pair.ca))
        rates: dict[str, list[float]] = {name: [] for name in servers}
        costs: dict[str, list[float]] = {name: [] for name in servers}
        for _ in range(ROUNDS):
            for name, server in servers.items():
                before = server.cpu_seconds()
                responses, elapsed = driver.drive(server, 1.0)
                rates[name].append(responses / elapsed)
                costs[name].append((server.cpu_seconds() - before) / responses)
    for name in servers:
        rate, cost = statistics.median(rates[name]), statistics.median(costs[name]) * 1e6
        ratio = statistics.median(a / b for a, b in zip(rates["webhook"], rates[name], strict=True))
        print(f"  {name:38} {rate:7,.0f}/s  {cost:5.0f} µs of CPU  webhook/this {ratio:.2f}")


def measure_footprint(pair: Pair) -> None:
    """Prints the startup time, and the memory after 10,000 reviews."""
    port = free_port()
    tls = ["--cert", str(pair.certificate), "--key", str(pair.key)]
    command = ["webhook.cli", "serve", "--host=127.0.0.1", f"--port={port}", *tls]
    with running(command, port, pair.ca) as server, start_client(pair.ca) as driver:
        print(f"  start to first response: {server.startup_seconds:.2f} s")
        memory: list[float] = []
        answered = 0
        for target in (REVIEWS // 2, REVIEWS):
            while answered < target:
                answered += driver.drive(server, 0.1)[0]
            memory.append(server.worker_memory_mib())
        growth = memory[1] - memory[0]
        print(f"  after {answered:,} reviews: worker {memory[1]:.1f} MiB RSS ({growth:+.2f} MiB in the second half),")
        print(f"  parent and worker {server.memory_mib():.1f} MiB PSS")


def main() -> None:
    """Runs all measurements."""
    os.environ["MODELFIT_DRAIN_SECONDS"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        pair = mint(Path(folder))
        for workers in (1, 2):
            compare(pair, workers)
        measure_footprint(pair)


if __name__ == "__main__":
    main()
