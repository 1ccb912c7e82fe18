"""The import contracts hold, and each of them can fail."""

import configparser
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

LAYERS = "Each layer imports only the layers below it"
CORE = "Core groups import downwards: admission, claims, fits and profiles"
PURE = "The core performs no I/O and reads neither the clock nor randomness"
WEB = "Only webhook.server imports flask, gunicorn and gevent"
CLIENT = "Only webhook.cluster imports the Kubernetes client"
NO_CLUSTER = "The webhook and the offline commands never import an API client"
CERTS = "certs imports no Kubernetes client, and of webhook only dns_names"
TESTBED = "The test bed imports neither the product nor its tests"

# A module, a statement in it, and the contracts that it breaks.
VIOLATIONS = [
    ("webhook/core/admission/json_patch.py", "import os", {PURE}),
    ("webhook/core/admission/json_patch.py", "import time", {PURE}),
    ("webhook/core/admission/decide.py", "import logging", {PURE}),
    ("webhook/core/admission/decide.py", "def late():\n    import subprocess", {PURE}),
    ("webhook/core/admission/review.py", "from flask import request", {PURE, WEB}),
    ("webhook/core/admission/pods.py", "from kubernetes.client import V1Pod", {PURE, CLIENT, NO_CLUSTER}),
    ("webhook/core/claims/claim_names.py", "import random", {PURE}),
    ("webhook/core/claims/claim_names.py", "from uuid import uuid4", {PURE}),
    ("webhook/core/claims/pod_claim.py", "from webhook.core.admission import exemptions", {CORE}),
    ("webhook/core/fits/model_fit.py", "from webhook.core.claims import device_request", {CORE}),
    ("webhook/core/fits/model_fit.py", "from webhook.core import profiles", {CORE}),
    ("webhook/core/profiles/cel.py", "from webhook.core.fits import quantities", {CORE}),
    ("webhook/core/undeclared_group/__init__.py", "", {CORE}),
    ("webhook/core/undeclared_group/__init__.py", "from datetime import datetime", {CORE, PURE}),
    ("webhook/core/admission_config.py", "from webhook import settings", {PURE, LAYERS, CORE}),
    ("webhook/errors.py", "import sys", {PURE}),
    ("webhook/errors.py", "from webhook.core import fits", {LAYERS}),
    ("webhook/observe/logs.py", "from webhook.server import app", {LAYERS}),
    ("webhook/server/app.py", "from webhook.cli import inputs", {LAYERS}),
    ("webhook/server/app.py", "import webhook.controller.results", {LAYERS, NO_CLUSTER}),
    ("webhook/server/app.py", "import kubernetes", {CLIENT, NO_CLUSTER}),
    ("webhook/server/serving_certificate.py", "from cryptography import x509", {NO_CLUSTER}),
    ("webhook/server/serving_certificate.py", "from certs import pem", {NO_CLUSTER}),
    ("webhook/controller/work_queue.py", "import gevent", {WEB}),
    ("webhook/controller/work_queue.py", "import kubernetes.client", {CLIENT}),
    ("webhook/cli/inputs.py", "from webhook.cluster import api", {NO_CLUSTER}),
    ("webhook/cli/convert.py", "import urllib3", {CLIENT, NO_CLUSTER}),
    ("webhook/undeclared_package/__init__.py", "", {LAYERS}),
    ("certs/issuing.py", "from webhook import constants", {CERTS}),
    ("certs/issuing.py", "from kubernetes import client", {CERTS, CLIENT}),
    ("testbed/inventory.py", "from tests.vendors import nvidia", {TESTBED}),
    ("testbed/webhooks.py", "from webhook.core import fits", {TESTBED}),
    ("testbed/certificates.py", "import certs", {TESTBED}),
]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Checks the packages in `folder` against the contracts."""
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
    """The names of the broken contracts in a report."""
    return {line.partition(" BROKEN")[0] for line in report.splitlines() if " BROKEN" in line}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the sources."""
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


def test_every_contract_has_a_violation() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter", "utf-8")
    names = {config[section]["name"] for section in config.sections() if ":contract:" in section}
    assert names == set().union(*(contracts for _, _, contracts in VIOLATIONS))
