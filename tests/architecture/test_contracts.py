"""The import contracts hold, and each of them can fail."""

import configparser
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

LAYERS = "The shells stand on the core, never the other way round"
PURE = "The core does no I/O, tells no time and rolls no dice"
WEB = "Only webhook.server imports flask, gunicorn and gevent"
CLIENT = "Only webhook.cluster imports the Kubernetes client"
NO_CLUSTER = "The webhook and the offline commands reach no cluster, not even through others"
CERTS = "certs imports no Kubernetes client, and of webhook only dns_names"
TESTBED = "The test bed imports neither the product nor its tests"

# module, import, the contracts that it breaks
VIOLATIONS = [
    ("webhook/core/patch.py", "import os", {PURE}),
    ("webhook/core/patch.py", "import time", {PURE}),
    ("webhook/core/names_of_today.py", "from datetime import datetime", {PURE}),
    ("webhook/core/claims/names.py", "import random", {PURE}),
    ("webhook/core/claims/names.py", "from uuid import uuid4", {PURE}),
    ("webhook/core/decide.py", "import logging", {PURE}),
    ("webhook/core/review.py", "import socket", {PURE}),
    ("webhook/core/review.py", "from flask import request", {PURE, WEB}),
    ("webhook/core/pods.py", "from kubernetes.client import V1Pod", {PURE, CLIENT, NO_CLUSTER}),
    ("webhook/core/policy.py", "from webhook import settings", {PURE, LAYERS}),
    ("webhook/core/patch.py", "def late():\n    import subprocess", {PURE}),
    ("webhook/errors.py", "import sys", {PURE}),
    ("webhook/errors.py", "from webhook.core import pods", {LAYERS}),
    ("webhook/observe/logs.py", "from webhook.server import app", {LAYERS}),
    ("webhook/server/app.py", "from webhook.cli import inputs", {LAYERS}),
    ("webhook/server/app.py", "import webhook.controller.records", {LAYERS, NO_CLUSTER}),
    ("webhook/server/app.py", "import kubernetes", {CLIENT, NO_CLUSTER}),
    ("webhook/server/tls.py", "from cryptography import x509", {NO_CLUSTER}),
    ("webhook/server/tls.py", "from certs import pem", {NO_CLUSTER}),
    ("webhook/controller/queue.py", "import gevent", {WEB}),
    ("webhook/controller/queue.py", "import kubernetes.client", {CLIENT}),
    ("webhook/cli/inputs.py", "from webhook.cluster import api", {NO_CLUSTER}),
    ("webhook/cli/convert.py", "import urllib3", {CLIENT, NO_CLUSTER}),
    ("certs/issuing.py", "from webhook import vocabulary", {CERTS}),
    ("certs/issuing.py", "from kubernetes import client", {CERTS, CLIENT}),
    ("webhook/extras/__init__.py", "", {LAYERS}),
    ("testbed/inventory.py", "from tests.vendors import nvidia", {TESTBED}),
    ("testbed/webhooks.py", "from webhook.core import pods", {TESTBED}),
    ("testbed/certificates.py", "import certs", {TESTBED}),
]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Checks the packages in the folder against our contracts."""
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache", "--config", str(ROOT / ".importlinter")],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def broken(report: str) -> set[str]:
    """The names of the contracts that a report calls broken."""
    return {line.removesuffix(" BROKEN") for line in report.splitlines() if line.endswith(" BROKEN")}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the sources."""
    for package in ("webhook", "certs", "testbed"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", ".assets"))
    return tmp_path


def test_the_contracts_hold(copy: Path) -> None:
    result = lint(copy)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


@pytest.mark.parametrize(("module", "statement", "contracts"), VIOLATIONS)
def test_a_violation_breaks_its_contract(copy: Path, module: str, statement: str, contracts: set[str]) -> None:
    path = copy / module
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n{statement}\n")
    result = lint(copy)
    assert result.returncode == 1, result.stdout + result.stderr
    assert broken(result.stdout) == contracts


def test_every_contract_is_seen_to_fail() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter", "utf-8")
    names = {config[section]["name"] for section in config.sections() if ":contract:" in section}
    assert names == set().union(*(contracts for _, _, contracts in VIOLATIONS))
