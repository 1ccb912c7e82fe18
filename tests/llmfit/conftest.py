"""`llmfit(*arguments)`: the JSON that the binary prints. Tests without the binary are skipped, or fail if CI is set."""

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
"""`llmfit(*arguments, code=0)`: the standard output of `llmfit --json …`, whose exit code must be `code`."""


@pytest.fixture(scope="session")
def llmfit(tmp_path_factory: pytest.TempPathFactory) -> Llmfit:
    """Runs the binary with its own home directory, so that it uses the built-in catalogue and not a fetched one."""
    if not BINARY.exists():
        reason = f"{BINARY} does not exist; install the package llmfit"
        if os.environ.get("CI"):
            pytest.fail(f"{reason} (with CI set, these tests may not be skipped)", pytrace=False)
        pytest.skip(reason)
    home = str(tmp_path_factory.mktemp("home"))
    environ = {"PATH": os.environ.get("PATH", ""), "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}

    def run(*arguments: str, code: int = 0) -> str:
        # On an older C library, the loader prints warnings to standard error.
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
    """Every row of `llmfit fit` on a medium-sized machine, which has rows of every run mode but TP."""
    rows: list[dict[str, Any]] = json.loads(llmfit("--memory", "24G", "--ram", "64G", "fit", "-n", "20000"))["models"]
    return rows
