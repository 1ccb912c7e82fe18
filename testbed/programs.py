"""The program under test as real processes: `modelfit serve`, `modelfit controller`, any `modelfit …` that stays."""

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
    """`modelfit <arguments>` as a process that is not started yet; `environment` adds to the tests' own.

    The console script beside the running Python where it is installed, else the module.
    """
    script = Path(sys.executable).with_name("modelfit")
    command = [script] if script.exists() else [sys.executable, "-m", "webhook.cli"]
    # Tracebacks and prints must be in the log when it is looked at, not in a buffer.
    merged = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
    return Process(name, [*command, *arguments], workspace.current().log(name), environment=merged, folder=REPOSITORY)


@dataclass(frozen=True)
class WebhookServer:
    """`modelfit serve` with a certificate of the tests. `url` has no path; `files.ca` is what to trust it by."""

    process: Process
    url: str
    files: Pair

    def start(self) -> None:
        """Starts it (again); ready when this returns."""
        self.process.start()
        self.process.wait_url(f"{self.url}/healthz", ca=self.files.ca)


def webhook_server(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> WebhookServer:
    """A webhook server that is not started yet, on a port that stays its own. `arguments` follow those needed."""
    folder = workspace.current().folder("webhook")
    files, port = mint(folder), free_port()
    fixed = ("serve", "--host", LOOPBACK, "--port", str(port), "--cert", files.certificate, "--key", files.key)
    process = modelfit("webhook", *fixed, *arguments, environment=environment)
    return WebhookServer(process, f"https://{LOOPBACK}:{port}", files)
