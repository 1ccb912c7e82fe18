"""The Dockerfile, as far as it can be looked at without building it."""

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


def pinned() -> dict[str, Version]:
    """The list of versions."""
    lines = re.findall(r"^(\S+)==(\S+)$", TEXT, re.MULTILINE)
    return {canonicalize_name(name): Version(version) for name, version in lines}


def needed(name: str, found: dict[str, list[Requirement]]) -> dict[str, list[Requirement]]:
    """What a distribution needs, directly or not, by name."""
    for text in requires(name) or []:
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate({"extra": "", "python_version": "3.13"}):
            continue
        key = canonicalize_name(requirement.name)
        is_new = key not in found
        found.setdefault(key, []).append(requirement)
        if is_new:
            needed(requirement.name, found)
    return found


def test_all_that_is_needed_is_pinned_to_a_version_that_will_do() -> None:
    versions = pinned()
    for name, requirements in needed("modelfit-webhook", {}).items():
        for requirement in requirements:
            assert versions[name] in requirement.specifier, requirement


def test_nothing_is_pinned_that_nobody_needs() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    wanted = {*needed("modelfit-webhook", {}), *(canonicalize_name(Requirement(each).name) for each in build)}
    assert set(pinned()) == wanted


@pytest.mark.parametrize("module", ["webhook.server.worker", "webhook.server.app", "webhook.cli.controller"])
def test_what_is_imported_is_in_the_image(module: str) -> None:
    """A development environment has more in it, which hides a dependency that nobody declared."""
    code = f"import {module}, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    owners = packages_distributions()
    names = {canonicalize_name(owner) for name in loaded for owner in owners.get(name.partition(".")[0], [])}
    assert names - {"modelfit-webhook"} <= set(pinned())


def test_the_image_runs_as_a_number_that_is_not_root() -> None:
    (user,) = re.findall(r"^USER (.+)$", LAST_STAGE, re.MULTILINE)
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)


def test_the_program_is_process_number_1() -> None:
    assert 'ENTRYPOINT ["modelfit"]' in LAST_STAGE


def test_the_version_is_that_of_the_project() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"ARG VERSION={version}\n" in LAST_STAGE


def test_what_is_copied_is_there_and_is_all_that_the_package_is_made_of() -> None:
    copied = {name for line in re.findall(r"^COPY (?!<<|--)(.+) \S+$", TEXT, re.MULTILINE) for name in line.split()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {pattern.rstrip("*") for pattern in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    files = {project["project"]["readme"], *project["project"]["license-files"], "pyproject.toml"}
    assert copied == packages | files
    assert all((ROOT / name).exists() for name in copied)


@pytest.mark.skipif(sys.platform != "linux", reason="hadolint is installed for Linux only")
def test_hadolint_finds_nothing() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
