"""The Dockerfile, checked without a build."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text()
LAST_STAGE = TEXT.rpartition("\nFROM ")[2]


def pinned_versions() -> dict[str, Version]:
    """The pinned versions by package."""
    lines = re.findall(r"^(\S+)==(\S+)$", TEXT, re.MULTILINE)
    return {canonicalize_name(name): Version(version) for name, version in lines}


def collect_requirements(name: str, found: dict[str, list[Requirement]]) -> dict[str, list[Requirement]]:
    """The direct and indirect requirements of a distribution, by name."""
    for text in requires(name) or []:
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate({"extra": "", "python_version": "3.13"}):
            continue
        key = canonicalize_name(requirement.name)
        is_new = key not in found
        found.setdefault(key, []).append(requirement)
        if is_new:
            collect_requirements(requirement.name, found)
    return found


def test_every_dependency_is_pinned_to_an_allowed_version() -> None:
    versions = pinned_versions()
    for name, requirements in collect_requirements("modelfit-webhook", {}).items():
        for requirement in requirements:
            assert versions[name] in requirement.specifier, requirement


def test_no_unneeded_package_is_pinned_versions() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    expected = {
        *collect_requirements("modelfit-webhook", {}),
        *(canonicalize_name(Requirement(each).name) for each in build),
    }
    assert set(pinned_versions()) == expected


@pytest.mark.parametrize("module", ["webhook.server.worker", "webhook.server.app", "webhook.cli.controller"])
def test_every_imported_package_is_pinned(module: str) -> None:
    """The development environment has more packages, so an import of an undeclared one succeeds there."""
    code = f"import {module}, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    owners = packages_distributions()
    names = {canonicalize_name(owner) for name in loaded for owner in owners.get(name.partition(".")[0], [])}
    assert names - {"modelfit-webhook"} <= set(pinned_versions())


def test_the_user_is_numeric_and_not_root() -> None:
    (user,) = re.findall(r"^USER (.+)$", LAST_STAGE, re.MULTILINE)
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)


def test_the_entrypoint_is_the_program_itself() -> None:
    assert 'ENTRYPOINT ["modelfit"]' in LAST_STAGE


def test_the_version_label_is_the_project_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"ARG VERSION={version}\n" in LAST_STAGE


def test_exactly_the_files_of_the_package_are_copied() -> None:
    copied = {name for line in re.findall(r"^COPY (?!<<|--)(.+) \S+$", TEXT, re.MULTILINE) for name in line.split()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {pattern.rstrip("*") for pattern in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    files = {project["project"]["readme"], *project["project"]["license-files"], "pyproject.toml"}
    assert copied == packages | files
    assert all((ROOT / name).exists() for name in copied)


@pytest.mark.skipif(sys.platform != "linux", reason="hadolint is installed for Linux only")
def test_hadolint_reports_nothing() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    result = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
