"""Where the binaries come from, and that an unfinished build never looks finished; no control plane needed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testbed import assets, build, failure_logs, workspace

PACKAGE = Path(build.__file__).parent


@pytest.fixture
def builder(tmp_path: Path) -> Path:
    """A copy of build.py with its Go module, that builds into a folder of its own."""
    shutil.copy(PACKAGE / "build.py", tmp_path)
    shutil.copytree(PACKAGE / "binaries", tmp_path / "binaries")
    return tmp_path / "build.py"


def go(folder: Path, script: str) -> dict[str, str]:
    """An environment whose only `go` is that shell script; its `$out` is the folder that it is to build into."""
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


def test_the_last_line_is_the_folder_and_it_is_built_once(builder: Path, tmp_path: Path) -> None:
    environment = go(tmp_path / "bin", BUILDS_ALL)
    first, second = run(builder, environment), run(builder, environment)
    assert first.returncode == second.returncode == 0
    folder = Path(first.stdout.splitlines()[-1])
    assert second.stdout == first.stdout
    assert sorted(path.name for path in folder.iterdir()) == sorted(build.BINARIES)
    assert (tmp_path / "bin" / "log").read_text() == "built\n"
    assert "compiling" in first.stderr
    assert "compiling" not in first.stdout


def test_another_go_sum_is_another_folder(builder: Path, tmp_path: Path) -> None:
    environment = go(tmp_path / "bin", BUILDS_ALL)
    first = run(builder, environment).stdout
    sums = builder.parent / "binaries" / "go.sum"
    sums.write_text(sums.read_text() + "example.test/m v1.0.0 h1:x\n")
    assert run(builder, environment).stdout != first


def test_without_go_it_says_so_in_one_line(builder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run(builder, {"PATH": str(tmp_path / "empty")})
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("controlplane: no `go` on PATH: install Go")
    assert done.stderr.count("\n") == 1


def test_a_failed_build_leaves_no_folder(builder: Path, tmp_path: Path) -> None:
    done = run(builder, go(tmp_path / "bin", "touch ${out}kubectl; echo broken >&2; exit 1"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert "broken" in done.stderr
    assert [path.name for path in (builder.parent / ".assets").iterdir()] == ["lock"]


def test_a_tool_that_go_mod_lost_is_named(builder: Path, tmp_path: Path) -> None:
    done = run(builder, go(tmp_path / "bin", "touch ${out}server"))
    assert done.returncode == 1
    assert "no `tool` line for kube-apiserver, kube-controller-manager, kube-scheduler, kubectl" in done.stderr


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


def test_kubebuilder_assets_come_first(tmp_path: Path) -> None:
    for name in build.BINARIES:
        (tmp_path / name).touch(mode=0o755)
    assert assets.find({"KUBEBUILDER_ASSETS": str(tmp_path)}).folder == tmp_path


def test_half_a_set_of_assets_is_refused_by_name(tmp_path: Path) -> None:
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (tmp_path / name).touch(mode=0o755)
    with pytest.raises(assets.NoAssetsError, match="has no kube-controller-manager, kube-scheduler: put them beside"):
        assets.find({"KUBEBUILDER_ASSETS": str(tmp_path)})


def test_without_assets_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(build, "ASSETS", tmp_path)
    with pytest.raises(assets.NoAssetsError, match="run `make controlplane`"):
        assets.find({})


@pytest.mark.parametrize(
    ("ci", "code", "said"),
    [("", 0, r"SKIPPED [2]"), ("true", 1, "with CI set, the cluster tests may not be skipped")],
    ids=["skipped", "failed in CI"],
)
def test_without_assets_the_tier_is_skipped_but_not_in_ci(tmp_path: Path, ci: str, code: int, said: str) -> None:
    environment = {**os.environ, "CI": ci, "KUBEBUILDER_ASSETS": str(tmp_path)}
    tests = str(PACKAGE / "test_webhooks.py")
    two = ["-k", "another_authority or seen_last"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, *two]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert said in done.stdout
    assert "KUBEBUILDER_ASSETS" in done.stdout


def test_logs_written_during_a_test_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(failure_logs, "FOLDER", tmp_path)
    log = workspace.current().log("kept")
    log.write_text("what happened")
    written = log.stat().st_mtime
    kept = failure_logs.save_logs("test_a[x/y]", written)
    assert kept == tmp_path / "test_a[x_y]"
    assert (kept / log.name).read_text() == "what happened"
    assert failure_logs.save_logs("test_b", written + 60) is None


def test_a_failed_tests_report_says_where_its_logs_are(tmp_path: Path) -> None:
    """In a copy of the package, whose `.logs` is its own; any binaries will do, since nothing is started."""
    package = tmp_path / "tests" / "cluster"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("test_*", ".assets", "__pycache__"))
    (package / "test_it.py").write_text(
        "import pytest\nfrom . import workspace\n\n"
        "@pytest.mark.cluster\ndef test_it():\n"
        "    workspace.current().log('server').write_text('x')\n    assert False\n"
    )
    for name in build.BINARIES:
        (tmp_path / name).touch(mode=0o755)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = cluster: x\n")
    environment = {**os.environ, "KUBEBUILDER_ASSETS": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(package)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    (kept,) = (tmp_path / ".logs" / "test_it").iterdir()
    assert kept.read_text() == "x"
    assert f"logs of the processes -----------------------------\n{kept.parent}\n" in done.stdout
