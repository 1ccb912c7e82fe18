"""The product as processes: `modelfit serve` and any other `modelfit …`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed import workspace
from testbed.certificates import Pair, mint
from testbed.ports import free_port
from testbed.processes import Process
from testbed.servers import LOOPBACK

REPOSITORY = Path(__file__).resolve().parents[1]


def modelfit(name: str, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> Process:
    """`modelfit <arguments>` as a process that is not started yet. `environment` adds to the test process's own.

    Runs the console script beside the running Python if it is installed, else the module.
    """
    script = Path(sys.executable).with_name("modelfit")
    command = [script] if script.exists() else [sys.executable, "-m", "webhook.cli"]
    # Unbuffered, so that the log is complete when a test reads it.
    merged = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
    return Process(name, [*command, *arguments], workspace.current().log(name), environment=merged, folder=REPOSITORY)


@dataclass(frozen=True)
class WebhookServer:
    """`modelfit serve` with a test certificate. `url` has no path; `files.ca` is the CA."""

    process: Process
    url: str
    files: Pair

    def start(self) -> None:
        """Starts the process and waits until it is healthy."""
        self.process.start()
        self.process.wait_url(f"{self.url}/healthz", ca=self.files.ca)


def webhook_server(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> WebhookServer:
    """A webhook server that is not started yet, on a fixed port. `arguments` follow the required ones."""
    folder = workspace.current().folder("webhook")
    files, port = mint(folder), free_port()
    fixed = ("serve", "--host", LOOPBACK, "--port", str(port), "--cert", files.certificate, "--key", files.key)
    process = modelfit("webhook", *fixed, *arguments, environment=environment)
    return WebhookServer(process, f"https://{LOOPBACK}:{port}", files)
