"""Runs the real kubectl."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from testbed.api import JsonObject


@dataclass(frozen=True)
class Result:
    """A command's output and exit code. kubectl prints admission warnings as `Warning: …` on stderr."""

    stdout: str
    stderr: str
    returncode: int

    def ok(self) -> Result:
        """Returns itself. Raises AssertionError with the output if the command failed."""
        if self.returncode != 0:
            raise AssertionError(f"kubectl exited with code {self.returncode}:\n{self.stderr}{self.stdout}")
        return self

    @property
    def warnings(self) -> tuple[str, ...]:
        lines = self.stderr.splitlines()
        return tuple(line.removeprefix("Warning: ") for line in lines if line.startswith("Warning: "))


def kubectl(
    program: Path, kubeconfig: Path, *arguments: str, input: JsonObject | str | None = None, timeout: float = 60
) -> Result:
    """Runs kubectl with that kubeconfig. `input` is its standard input; an object becomes JSON (use `-f -`)."""
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
