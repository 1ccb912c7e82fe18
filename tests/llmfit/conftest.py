"""`llmfit(*arguments)`: what the binary prints as JSON. Without the binary the tests are skipped; in CI they fail."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BINARY = Path(sys.executable).with_name("llmfit")

Llmfit = Callable[..., str]
"""`llmfit(*arguments, code=0)`: standard output of `llmfit --json …`, which must end with that exit code."""


@pytest.fixture(scope="session")
def llmfit(tmp_path_factory: pytest.TempPathFactory) -> Llmfit:
    """Runs the binary with a home of its own, so that it reads no catalogue that somebody fetched."""
    if not BINARY.exists():
        reason = f"{BINARY} is not there; install the package llmfit"
        if os.environ.get("CI"):
            pytest.fail(f"{reason} (with CI set, these tests may not be skipped)", pytrace=False)
        pytest.skip(reason)
    home = str(tmp_path_factory.mktemp("home"))
    environ = {"PATH": os.environ.get("PATH", ""), "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}

    def run(*arguments: str, code: int = 0) -> str:
        # On an older C library the loader grumbles on standard error, and the program runs all the same.
        done = subprocess.run(
            [BINARY, "--json", *arguments], capture_output=True, text=True, env=environ, timeout=120, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def catalogue(llmfit: Llmfit) -> list[dict[str, Any]]:
    """Every row of `llmfit list`."""
    rows: list[dict[str, Any]] = json.loads(llmfit("list"))
    return rows


@pytest.fixture(scope="session")
def fits(llmfit: Llmfit) -> list[dict[str, Any]]:
    """Every row of `llmfit fit` on a machine of a middling size, so that there are rows of every run mode."""
    rows: list[dict[str, Any]] = json.loads(llmfit("--memory", "24G", "--ram", "64G", "fit", "-n", "20000"))["models"]
    return rows
