"""The Dockerfile and the lock files, checked without a build."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.lock import BUILD, PLATFORMS, PYTHON, RUNTIME

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text()
LAST_STAGE = TEXT.rpartition("\nFROM ")[2]
ENTRY = re.compile(r"^(\S+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def entries(lock: Path) -> dict[str, tuple[Version, int]]:
    """The version and the number of hashes of each package in a lock file. Every line must belong to one."""
    text = lock.read_text()
    assert re.fullmatch(r"(#.*)?\n*", ENTRY.sub("", text)), f"a line without hash in {lock.name}"
    return {
        canonicalize_name(name): (Version(version), hashes.count("--hash"))
        for name, version, hashes in ENTRY.findall(text)
    }


def pinned_versions() -> dict[str, Version]:
    """The versions in the image by package."""
    return {name: version for name, (version, _) in entries(RUNTIME).items()}


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


def test_no_unneeded_package_is_pinned() -> None:
    assert set(pinned_versions()) == set(collect_requirements("modelfit-webhook", {}))


def test_the_build_backend_is_pinned_and_not_in_the_image() -> None:
    (text,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    requirement = Requirement(text)
    ((name, (version, _)),) = entries(BUILD).items()
    assert (name, version in requirement.specifier) == (requirement.name, True)


def test_a_compiled_package_has_a_hash_for_each_platform() -> None:
    for name, (_, hashes) in entries(RUNTIME).items():
        compiled = any(file.suffix == ".so" for file in distribution(name).files or [])
        assert hashes >= (len(PLATFORMS) if compiled else 1), name


def test_every_installation_checks_hashes_or_has_no_network() -> None:
    commands = re.split(r"&&|\n", TEXT.replace("\\\n", " "))
    installations = [each for each in commands if re.search(r"-m pip .*\b(install|wheel) ", each)]
    assert len(installations) == 4
    assert all("--require-hashes" in each or {"--no-deps", "--no-index"} <= set(each.split()) for each in installations)


def test_no_frontend_is_fetched_by_a_tag_and_the_base_image_is_an_argument() -> None:
    assert "# syntax" not in TEXT
    assert set(re.findall(r"^FROM (\S+)", TEXT, re.MULTILINE)) == {"${PYTHON_IMAGE}"}
    assert re.search(rf"^ARG PYTHON_IMAGE=python:{re.escape(PYTHON)}-", TEXT, re.MULTILINE)
    assert 'base.name="${PYTHON_IMAGE}"' in LAST_STAGE


@pytest.mark.parametrize("module", ["webhook.server.worker", "webhook.server.app", "webhook.cli.controller"])
def test_every_imported_package_is_pinned(module: str) -> None:
    """The development environment has more packages, so an import of an undeclared one succeeds there."""
    code = f"import {module}, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    owners = packages_distributions()
    names = {canonicalize_name(owner) for name in loaded for owner in owners.get(name.partition(".")[0], [])}
    # An editable installation imports setuptools.
    assert names - {"modelfit-webhook", "setuptools"} <= set(pinned_versions())


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
    files |= {RUNTIME.name, BUILD.name}
    assert copied == packages | files
    assert all((ROOT / name).exists() for name in copied)


@pytest.mark.skipif(sys.platform != "linux", reason="hadolint is installed for Linux only")
def test_hadolint_reports_nothing() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    result = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
