"""The real kubectl, run as any identity."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from testbed.api import JsonObject


@dataclass(frozen=True)
class Result:
    """What a command printed and its exit code. kubectl prints an admission warning as `Warning: …` on stderr."""

    stdout: str
    stderr: str
    returncode: int

    def ok(self) -> Result:
        """Itself. Raises AssertionError with what was printed where the command failed."""
        if self.returncode != 0:
            raise AssertionError(f"kubectl ended with code {self.returncode}:\n{self.stderr}{self.stdout}")
        return self

    @property
    def warnings(self) -> tuple[str, ...]:
        lines = self.stderr.splitlines()
        return tuple(line.removeprefix("Warning: ") for line in lines if line.startswith("Warning: "))


def kubectl(
    program: Path, kubeconfig: Path, *arguments: str, input: JsonObject | str | None = None, timeout: float = 60
) -> Result:
    """Runs kubectl with that kubeconfig. `input` is its standard input; an object is sent as JSON (use `-f -`)."""
    home = kubeconfig.parent
    done = subprocess.run(
        [str(program), "--cache-dir", str(home / "kubectl-cache"), *arguments],
        input=json.dumps(input) if isinstance(input, dict) else input or "",
        capture_output=True,
        text=True,
        timeout=timeout,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(kubeconfig)},
        check=False,
    )
    return Result(done.stdout, done.stderr, done.returncode)
