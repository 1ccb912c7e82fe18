"""The webhook beside bare Flask: `python -m benchmarks.webhook`, a minute and a half.

Both under gunicorn with the same settings (TLS, keep-alive, the same number of workers), driven by the same client,
taking turns of a second so that whatever else the machine does strikes both. Bare Flask answers a constant and neither
reads nor decides; it is measured in this project's own worker and in gunicorn's. The webhook answers a 7 KB review of
an annotated pod, with its log at `info`.

The target is 0.8 of the requests per second. Time to the first answer and memory are the webhook's own.
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

from benchmarks.servers import Running, free_port, running
from testbed.certificates import Pair, mint

ROUNDS = 15
CONNECTIONS = 8
REVIEWS = 10_000


class Client:
    """The client's process."""

    def __init__(self, commands: IO[str], results: IO[str]) -> None:
        self._commands, self._results = commands, results

    def drive(self, server: Running, seconds: float) -> tuple[int, float]:
        """Answers, and the seconds that they took."""
        self._commands.write(f"{server.port} {seconds}\n")
        self._commands.flush()
        answers, took = self._results.readline().split()
        return int(answers), float(took)


@contextmanager
def client(authority: Path) -> Iterator[Client]:
    """A client until the end of the block."""
    command = [sys.executable, "-m", "benchmarks.client", str(authority), str(CONNECTIONS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Client(process.stdin, process.stdout)
        process.stdin.close()


def compare(pair: Pair, workers: int) -> None:
    """Prints a line for each server: its rate, its CPU time for a request, and the webhook's rate in relation to it."""
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
        driver = stack.enter_context(client(pair.ca))
        rates: dict[str, list[float]] = {name: [] for name in servers}
        costs: dict[str, list[float]] = {name: [] for name in servers}
        for _ in range(ROUNDS):
            for name, server in servers.items():
                before = server.cpu()
                answers, took = driver.drive(server, 1.0)
                rates[name].append(answers / took)
                costs[name].append((server.cpu() - before) / answers)
    for name in servers:
        rate, cost = statistics.median(rates[name]), statistics.median(costs[name]) * 1e6
        ratio = statistics.median(a / b for a, b in zip(rates["webhook"], rates[name], strict=True))
        print(f"  {name:38} {rate:7,.0f}/s  {cost:5.0f} µs of CPU  webhook's ratio to it {ratio:.2f}")


def footprint(pair: Pair) -> None:
    """Prints the time to the first answer, and the memory over 10,000 reviews."""
    port = free_port()
    tls = ["--cert", str(pair.certificate), "--key", str(pair.key)]
    command = ["webhook.cli", "serve", "--host=127.0.0.1", f"--port={port}", *tls]
    with running(command, port, pair.ca) as server, client(pair.ca) as driver:
        print(f"  start to first answered review: {server.start:.2f} s")
        memory: list[float] = []
        answered = 0
        for mark in (REVIEWS // 2, REVIEWS):
            while answered < mark:
                answered += driver.drive(server, 0.1)[0]
            memory.append(server.resident_of_worker())
        print(
            f"  after {answered:,} reviews: worker's RSS {memory[1]:.1f} MiB ({memory[1] - memory[0]:+.2f} in the last"
        )
        print(f"  half); parent and worker together {server.resident():.1f} MiB (PSS)")


def main() -> None:
    """Runs it all."""
    os.environ["MODELFIT_DRAIN_SECONDS"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        pair = mint(Path(folder))
        for workers in (1, 2):
            compare(pair, workers)
        footprint(pair)


if __name__ == "__main__":
    main()
