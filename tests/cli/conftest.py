"""`modelfit(...)` runs a command in this process, `modelfit_process(...)` in a process of its own."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from webhook.cli import main


@dataclass(frozen=True)
class Result:
    """Exit code, standard output and standard error of a command."""

    code: int
    out: str
    err: str

    def transcript(self, call: str) -> str:
        """The result as the text of a golden file."""
        return f"$ {call}\nexit code {self.code}\n--- standard error\n{self.err}--- standard output\n{self.out}"


Run = Callable[..., Result]
"""`run(*arguments, stdin=b"")`; a str is encoded as UTF-8."""


def isolate_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes settings from the environment, and fixes the width and colours of the help."""
    for name in [name for name in os.environ if name.startswith("MODELFIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def modelfit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in this process."""
    isolate_environment(monkeypatch)

    def run(*arguments: str, stdin: str | bytes = b"") -> Result:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as exited:
            code = int(exited.code or 0)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def modelfit_process(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a process of its own. `environ` is added to the environment."""
    isolate_environment(monkeypatch)

    def run(*arguments: str, stdin: str | bytes = b"", environ: dict[str, str] | None = None) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "webhook.cli", *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env=os.environ | (environ or {}),
            timeout=60,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
