"""`modelfit serve` in a process of its own."""

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
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.core import builders

TIMEOUT_SECONDS = 60.0
"""For events that a test waits for."""


NO_TIME_LIMITS = (
    "from webhook.server import limits; limits.HANDSHAKE_SECONDS = limits.REQUEST_SECONDS = 3600; "
    "limits.RESPONSE_SECONDS = limits.LINGER_SECONDS = 3600"
)
"""A prelude for `Launcher`: the server's time limits never end a connection, so a slow machine changes no result."""


def wait_until(condition: Callable[[], bool], description: str) -> None:
    """Waits until `condition` is true; fails after TIMEOUT_SECONDS."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"timed out: {description}"
        time.sleep(0.02)


@dataclass
class RunningServer:
    """A server that is ready."""

    process: subprocess.Popen[bytes]
    host: str
    port: int
    ca_file: Path
    log_file: Path
    context: ssl.SSLContext = field(init=False)
    connections: ExitStack = field(default_factory=ExitStack)
    """Closes all connections that the methods below open."""

    def __post_init__(self) -> None:
        self.context = ssl.create_default_context(cafile=self.ca_file)

    @property
    def workers(self) -> list[int]:
        """Process ids of the workers."""
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def log_lines(self, message: str | None = None) -> list[dict[str, Any]]:
        """The log so far, or only its lines with this message."""
        lines = [json.loads(line) for line in self.log_file.read_text().splitlines()]
        return [line for line in lines if message in (None, line["msg"])]

    def connect(self) -> socket.socket:
        """A TCP connection, without TLS."""
        return self.connections.enter_context(socket.create_connection((self.host, self.port), TIMEOUT_SECONDS))

    def tls(self) -> ssl.SSLSocket:
        """A connection with TLS."""
        return self.connections.enter_context(self.context.wrap_socket(self.connect(), server_hostname=self.host))

    def client(self) -> http.client.HTTPSConnection:
        """An HTTP client that keeps its connection and never retries."""
        client = http.client.HTTPSConnection(self.host, self.port, timeout=TIMEOUT_SECONDS, context=self.context)
        self.connections.callback(client.close)
        return client

    def served_common_name(self) -> str:
        """The common name of the certificate that a new connection is served."""
        with self.tls() as connection:
            certificate: Any = connection.getpeercert()
        return str(dict(part[0] for part in certificate["subject"])["commonName"])

    def get(self, path: str) -> tuple[int, str]:
        """Status and text of a GET over a new connection."""
        client = self.client()
        try:
            client.request("GET", path)
            answer = client.getresponse()
            return answer.status, answer.read().decode()
        finally:
            client.close()

    def metric(self, sample: str) -> float:
        """The value of a sample, e.g. `name{label="value"}`; 0 if it does not exist."""
        lines = self.get("/metrics")[1].splitlines()
        return next((float(line.split()[-1]) for line in lines if line.rpartition(" ")[0] == sample), 0.0)

    def stop(self, signal_number: int = signal.SIGTERM) -> int:
        """Sends a signal and waits for the exit code."""
        self.process.send_signal(signal_number)
        return self.process.wait(TIMEOUT_SECONDS)


def post_review(
    client: http.client.HTTPSConnection, uid: str = builders.UID, body: bytes | None = None
) -> builders.Json:
    """Posts a review to /mutate, checks status and uid, and returns the `response`."""
    data = json.dumps(builders.body(builders.pod(), uid=uid)).encode() if body is None else body
    client.request("POST", "/mutate", data, {"Content-Type": "application/json"})
    answer = client.getresponse()
    text = answer.read()
    assert answer.status == 200, text
    response: builders.Json = json.loads(text)["response"]
    assert response["uid"] == uid
    return response


def free_port(host: str = "127.0.0.1") -> int:
    """A port that is not in use."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


@dataclass
class Launcher:
    """Starts servers with a certificate."""

    certificate: Path
    key: Path
    ca_file: Path
    folder: Path
    prelude: str = "pass"
    """A statement that the server's process executes first."""

    def command(self, port: int, *arguments: str, host: str = "127.0.0.1") -> list[str]:
        """The command line."""
        pair = [f"--cert={self.certificate}", f"--key={self.key}"]
        code = f"{self.prelude}; import sys; from webhook.cli import main; sys.exit(main())"
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
    ) -> Iterator[RunningServer]:
        """A server until the end of the block. `settings` have the names of their environment variables without the
        prefix MODELFIT_. `prefix` is a command that runs the server's command line."""
        port = free_port(host)
        variables = {"PATH": os.environ["PATH"], "MODELFIT_DRAIN_SECONDS": "0"} | dict(environ or {})
        variables |= {f"MODELFIT_{name.upper()}": str(value) for name, value in (settings or {}).items()}
        log_file = self.folder / f"log-{port}"
        with log_file.open("wb") as stderr:
            process = subprocess.Popen(
                [*prefix, *self.command(port, *arguments, host=host)], stderr=stderr, env=variables, **options
            )
        server = RunningServer(process, "127.0.0.1" if host == "::" else host, port, self.ca_file, log_file)
        try:
            wait_until(lambda: process.poll() is not None or bool(server.log_lines("serving")), "the start")
            assert process.poll() is None, log_file.read_text()
            wait_until(lambda: bool(server.workers), "a worker")
            yield server
        finally:
            server.connections.close()
            process.kill()
            process.wait()
            for pid in _orphaned_workers(port):
                os.kill(pid, signal.SIGKILL)
            for folder in shared_metrics(process.pid):
                shutil.rmtree(folder)


def shared_metrics(pid: int) -> list[Path]:
    """The folders in which the workers of a server add up their metrics."""
    return list(Path("/dev/shm").glob(f"modelfit-{pid}-*"))


def _orphaned_workers(port: int) -> list[int]:
    """Process ids of workers whose parent was killed. They would exit within a second."""
    argument = f"--port={port}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        # The process may have ended.
        with suppress(OSError):
            if argument in (entry / "cmdline").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found
