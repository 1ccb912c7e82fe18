"""`make controlplane` builds once, a killed build never looks complete, and CI never skips the cluster tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testbed import build
from testbed.programs import REPOSITORY


@pytest.fixture
def builder(tmp_path: Path) -> Path:
    """A copy of build.py and its Go module, which builds into its own folder."""
    source = Path(build.__file__).parent
    shutil.copy(source / "build.py", tmp_path)
    shutil.copytree(source / "binaries", tmp_path / "binaries")
    return tmp_path / "build.py"


def go(folder: Path, script: str) -> dict[str, str]:
    """An environment whose `go` is a shell script. Its `$out` is the folder to build into."""
    folder.mkdir(exist_ok=True)
    program = folder / "go"
    program.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done; out=$2\n{script}\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:/usr/bin:/bin"}


def run(builder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", str(builder)], env=environment, capture_output=True, text=True, check=False
    )


BUILDS_ALL = """\
echo compiling >&2
for name in server kube-apiserver kube-controller-manager kube-scheduler kubectl; do touch $out$name; done
echo built >> "$(dirname $0)/log"
"""


def test_each_version_is_built_once_and_its_folder_is_the_last_line(builder: Path, tmp_path: Path) -> None:
    environment = go(tmp_path / "bin", BUILDS_ALL)
    first, second = run(builder, environment), run(builder, environment)
    assert first.returncode == second.returncode == 0
    folder = Path(first.stdout.splitlines()[-1])
    assert second.stdout == first.stdout
    assert sorted(path.name for path in folder.iterdir()) == sorted(build.BINARIES)
    assert (tmp_path / "bin" / "log").read_text() == "built\n"

    sums = builder.parent / "binaries" / "go.sum"
    sums.write_text(sums.read_text() + "example.test/m v1.0.0 h1:x\n")
    assert run(builder, environment).stdout != first.stdout


def test_a_killed_build_leaves_nothing_that_looks_complete(builder: Path, tmp_path: Path) -> None:
    environment = go(tmp_path / "bin", "touch ${out}kubectl; echo half >&2; exec sleep 2")
    with subprocess.Popen([sys.executable, str(builder)], env=environment, stderr=subprocess.PIPE, text=True) as victim:
        assert victim.stderr is not None
        while "half" not in victim.stderr.readline():
            assert victim.poll() is None
        os.kill(victim.pid, signal.SIGKILL)
    left = {path.name.partition("-")[0] for path in (builder.parent / ".assets").iterdir()}
    assert left == {"lock", "building"}
    done = run(builder, go(tmp_path / "bin", BUILDS_ALL))
    folder = Path(done.stdout.splitlines()[-1])
    assert sorted(path.name for path in (builder.parent / ".assets").iterdir()) == sorted(["lock", folder.name])


@pytest.mark.parametrize(
    ("ci", "code", "text"),
    [("", 0, "SKIPPED"), ("true", 1, "with CI set, the cluster tests may not be skipped")],
    ids=["skipped", "failed in CI"],
)
def test_without_binaries_cluster_tests_are_skipped_but_fail_in_ci(
    tmp_path: Path, ci: str, code: int, text: str
) -> None:
    environment = {**os.environ, "CI": ci, "KUBEBUILDER_ASSETS": str(tmp_path)}
    folders = ["tests/cluster/test_controlplane.py", "tests/vendors/test_device_classes.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *folders]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert text in done.stdout
    assert "passed" not in done.stdout
    assert "has no etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl" in done.stdout
