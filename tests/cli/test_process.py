"""Behaviour that needs a process: exit codes, closed streams, signals, locales, the installed program."""

import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from webhook.cli import COMMANDS

FIT = '{"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 8}'
PROGRAM = [sys.executable, "-m", "webhook.cli"]


def shell(command: str, stdin: str = FIT) -> "subprocess.CompletedProcess[str]":
    """Runs a shell command in which $M is modelfit."""
    return subprocess.run(
        ["/bin/sh", "-c", command.replace("$M", " ".join(PROGRAM))],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_exit_codes_and_streams(modelfit_process: Run) -> None:
    done = modelfit_process("convert", stdin=FIT)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("apiVersion: resource.k8s.io/v1\n")
    no_claim = modelfit_process("convert", stdin='{"min_vram_gb": 0}')
    assert (no_claim.code, no_claim.out) == (1, "")
    unusable = modelfit_process("convert", stdin="")
    assert (unusable.code, unusable.out) == (2, "")
    assert unusable.err.count("\n") == 1


def test_the_installed_program_prints_its_version() -> None:
    program = Path(sys.executable).with_name("modelfit")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f"modelfit {version('modelfit-webhook')}\n"


def test_a_reader_that_exits_is_not_an_error() -> None:
    many = "\n---\n".join("{apiVersion: v1, kind: Pod, metadata: {name: %s}}" % ("a" * 250) for _ in range(2000))
    done = shell("$M preview -f - | head -c 1", stdin=many)
    assert (done.stdout, done.stderr) == ("a", "")
    assert shell("$M --help | true").stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_an_error() -> None:
    done = shell("$M convert >/dev/full")
    assert done.returncode == 2
    assert done.stderr == "modelfit: standard output: No space left on device\n"


@pytest.mark.parametrize(
    ("command", "code"), [("$M convert >&-", 2), ("$M convert <&-", 2), ("$M convert - --kind x 2>&-", 2)]
)
def test_a_closed_stream_causes_no_traceback(command: str, code: int) -> None:
    done = shell(command)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_messages_are_not_printed_to_standard_output_if_standard_error_is_closed() -> None:
    done = shell("$M convert 2>&-", stdin='{"min_ram_gb": 12, "min_vram_gb": null}')
    assert done.returncode == 0
    assert done.stdout.startswith("apiVersion: ")
    assert "Warning" not in done.stdout


def test_sigint_ends_a_command_without_a_message(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # A shell starts background processes with SIGINT ignored, which child processes inherit, these tests included.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen([*PROGRAM, "convert", str(pipe)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, previous)
    with process:
        # Blocks until the command opens the pipe too. The command then waits for the first byte.
        writer = os.open(pipe, os.O_WRONLY)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == (b"", b"")
        os.close(writer)
    assert process.returncode == 130


def test_manifests_are_utf_8_in_every_locale(modelfit_process: Run) -> None:
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {note: ümläut 🦙}}}"
    printed = modelfit_process("preview", "-f", "-", stdin=pod, environ={"LC_ALL": "C", "PYTHONIOENCODING": "ascii"})
    assert (printed.code, printed.err) == (0, "")
    assert "ümläut" in printed.out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_imports_no_other_command_and_no_server_or_client(command: str) -> None:
    code = (
        "import sys; from webhook.cli import COMMANDS, main\n"
        f"try: main([{command!r}, '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = ['kubernetes', 'flask', 'gunicorn', 'gevent']\n"
        "print([name for name in [*COMMANDS, *heavy] if name in sys.modules or f'webhook.cli.{name}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == f"[{command!r}]"


def test_a_command_runs_with_an_empty_environment() -> None:
    kept = {key: os.environ[key] for key in ("PYTHONPATH", "LD_LIBRARY_PATH") if key in os.environ}
    done = subprocess.run([*PROGRAM, "convert"], input=FIT, capture_output=True, text=True, env=kept, check=False)
    assert (done.returncode, done.stderr) == (0, "")
