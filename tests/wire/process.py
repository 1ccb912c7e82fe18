"""`modelfit serve` as a process of its own."""

import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.core import kit

PATIENCE = 30.0
"""Seconds for what must happen some time."""


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Waits until it holds; fails after PATIENCE."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.02)


@dataclass
class Served:
    """A server that answers."""

    process: subprocess.Popen[bytes]
    host: str
    port: int
    authority: Path
    log: Path
    context: ssl.SSLContext = field(init=False)
    opened: ExitStack = field(default_factory=ExitStack)
    """Closes every connection that was made here."""

    def __post_init__(self) -> None:
        self.context = ssl.create_default_context(cafile=self.authority)

    @property
    def workers(self) -> list[int]:
        """Process ids of the workers."""
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def lines(self) -> list[dict[str, Any]]:
        """The log so far."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def said(self, message: str) -> list[dict[str, Any]]:
        """The log's lines of an event."""
        return [line for line in self.lines() if line["msg"] == message]

    def connect(self) -> socket.socket:
        """A TCP connection, without TLS."""
        return self.opened.enter_context(socket.create_connection((self.host, self.port), PATIENCE))

    def tls(self) -> ssl.SSLSocket:
        """A connection with TLS."""
        return self.opened.enter_context(self.context.wrap_socket(self.connect(), server_hostname=self.host))

    def client(self) -> http.client.HTTPSConnection:
        """An HTTP client that keeps its connection, and never repeats a request."""
        client = http.client.HTTPSConnection(self.host, self.port, timeout=PATIENCE, context=self.context)
        self.opened.callback(client.close)
        return client

    def served_name(self) -> str:
        """The common name of the certificate that a new connection is shown."""
        with self.tls() as connection:
            certificate: Any = connection.getpeercert()
        return str(dict(part[0] for part in certificate["subject"])["commonName"])

    def get(self, path: str) -> tuple[int, str]:
        """Status and text, over a connection of its own."""
        client = self.client()
        try:
            client.request("GET", path)
            answer = client.getresponse()
            return answer.status, answer.read().decode()
        finally:
            client.close()

    def metric(self, sample: str) -> float:
        """The value of a sample, written as in the exposition; 0 where it is not there."""
        lines = self.get("/metrics")[1].splitlines()
        return next((float(line.split()[-1]) for line in lines if line.rpartition(" ")[0] == sample), 0.0)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Signals and waits; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def review(client: http.client.HTTPSConnection, uid: str = kit.UID, body: bytes | None = None) -> kit.Json:
    """One review over this client; the response, whose uid is right."""
    data = json.dumps(kit.body(kit.pod(), uid=uid)).encode() if body is None else body
    client.request("POST", "/mutate", data, {"Content-Type": "application/json"})
    answer = client.getresponse()
    text = answer.read()
    assert answer.status == 200, text
    response: kit.Json = json.loads(text)["response"]
    assert response["uid"] == uid
    return response


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody listens on."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


@dataclass
class Launcher:
    """Starts servers with one pair."""

    certificate: Path
    key: Path
    authority: Path
    folder: Path
    before: str = "pass"
    """A statement that the server's process runs first."""

    def command(self, port: int, *arguments: str, host: str = "127.0.0.1") -> list[str]:
        """The command line."""
        pair = [f"--cert={self.certificate}", f"--key={self.key}"]
        code = f"{self.before}; import sys; from webhook.cli import main; sys.exit(main())"
        return [sys.executable, "-c", code, "serve", f"--host={host}", f"--port={port}", *pair, *arguments]

    @contextmanager
    def serving(
        self,
        *arguments: str,
        host: str = "127.0.0.1",
        settings: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
        **options: Any,
    ) -> Iterator[Served]:
        """A server that is ready, until the end of the block. `settings` by their names in the environment; `prefix`
        is a command that runs the server's."""
        port = free_port(host)
        variables = {"PATH": os.environ["PATH"], "MODELFIT_DRAIN_SECONDS": "0"} | dict(environ or {})
        variables |= {f"MODELFIT_{name.upper()}": str(value) for name, value in (settings or {}).items()}
        log = self.folder / f"log-{port}"
        with log.open("wb") as stderr:
            process = subprocess.Popen(
                [*prefix, *self.command(port, *arguments, host=host)], stderr=stderr, env=variables, **options
            )
        served = Served(process, "127.0.0.1" if host == "::" else host, port, self.authority, log)
        try:
            wait_until(lambda: process.poll() is not None or bool(served.said("serving")), "the start")
            assert process.poll() is None, log.read_text()
            wait_until(lambda: bool(served.workers), "a worker")
            yield served
        finally:
            served.opened.close()
            process.kill()
            process.wait()
            for pid in _orphans(served):
                os.kill(pid, signal.SIGKILL)
            for folder in shared_metrics(process.pid):
                shutil.rmtree(folder)


def shared_metrics(pid: int) -> list[Path]:
    """The folders in which the workers of that server add up their metrics."""
    return list(Path("/dev/shm").glob(f"modelfit-{pid}-*"))


def _orphans(served: Served) -> list[int]:
    """Workers that outlived their parent. They notice within a second; a test need not wait for that."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"--port={served.port}".encode() in (entry / "cmdline").read_bytes().split(
                b"\0"
            ):
                found.append(int(entry.name))
        except OSError:
            continue
    return found
