"""Applies the seeded faults and prints which are caught; see the package's docstring."""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.mutations.faults import FAULTS, Fault

ROOT = Path(__file__).parents[2]
MAX_SECONDS = 300
COPIED = ("webhook", "certs", "tests", "testbed", "tools", "charts", "examples", "docs", "pyproject.toml")


def main(names: list[str]) -> int:
    """Runs all faults, or those named. Returns the exit code."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in COPIED:
            copy_entry(ROOT / name, copy / name)
        passing: dict[tuple[str, ...], bool] = {}
        for fault in FAULTS:
            if names and fault.name not in names:
                continue
            started = time.monotonic()
            if fault.tests not in passing:
                passing[fault.tests] = run_tests(fault.tests, copy) == 0
            verdict = run(fault, copy) if passing[fault.tests] else "TESTS FAIL"
            failed += verdict != "caught"
            print(f"{fault.name:28} {verdict:12} {time.monotonic() - started:4.0f} s  {fault.meaning}", flush=True)
    return 1 if failed else 0


def run(fault: Fault, folder: Path) -> str:
    """Applies a fault in `folder`, runs its tests, restores the file: `caught`, `SURVIVED`, or why it did not run."""
    path = folder / fault.file
    original = path.read_text("utf-8")
    if original.count(fault.code) != 1:
        return "NOT FOUND"
    path.write_text(original.replace(fault.code, fault.replacement), "utf-8")
    try:
        code = run_tests(fault.tests, folder)
    except subprocess.TimeoutExpired:
        return "caught"  # an endless loop is a failure too
    finally:
        path.write_text(original, "utf-8")
    # 1: tests failed. 0: all passed. Others: pytest could not run them.
    return {0: "SURVIVED", 1: "caught"}.get(code, f"EXIT {code}")


def run_tests(tests: tuple[str, ...], folder: Path) -> int:
    """The exit code of pytest for the fast tests among `tests`, in the copy of the tree."""
    options = ["-q", "-x", "-p", "no:cacheprovider", "--tb=no", "-m", "not cluster and not wire"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=MAX_SECONDS, check=False).returncode


def copy_entry(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".assets"))
    else:
        shutil.copy(source, target)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
