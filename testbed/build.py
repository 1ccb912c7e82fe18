#!/usr/bin/env python3
"""Builds the control plane's binaries once: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl.

`binaries/go.mod` pins the versions (its `tool` lines), `binaries/go.sum` the hashes of their sources. The binaries go
to `.assets/<key>/`. The key is a hash of those two files and of the link flags, so each version is built once. The
folder is renamed into place when everything is built: a killed build leaves nothing that looks complete.

Prints the folder as the last line of standard output and Go's progress to standard error. Exits with 1 and one line if
Go is missing or the build fails. Uses the standard library only, since it runs before any virtual environment exists.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULE = HERE / "binaries"
ASSETS = HERE / ".assets"
BINARIES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
BUILT_AS = {"server": "etcd"}
"""Go names a binary after the last element of its import path; etcd's is `go.etcd.io/etcd/server/v3`."""


class CannotBuildError(Exception):
    """The binaries cannot be built here. The message has the cause and the remedy."""


def kubernetes_version() -> str:
    """The version of k8s.io/kubernetes in go.mod, e.g. `v1.37.2`."""
    found = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise CannotBuildError(f"{MODULE / 'go.mod'}: no line `k8s.io/kubernetes vX.Y.Z` that pins the version")
    return found[1]


def link_flags() -> str:
    """Strips debug data and sets the version; by default the servers report v0.0.0-master+$Format."""
    version = kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".", 2)
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    stamps = [f"-X {package}.{name}={value}" for package in packages for name, value in values.items()]
    return " ".join(["-s", "-w", *stamps])


def built_folder() -> Path:
    """The folder of the pinned versions' binaries, built or not."""
    digest = hashlib.sha256()
    for part in ((MODULE / "go.mod").read_bytes(), (MODULE / "go.sum").read_bytes(), link_flags().encode()):
        digest.update(hashlib.sha256(part).digest())
    return ASSETS / digest.hexdigest()[:16]


def build() -> Path:
    """Builds the binaries if needed and returns their folder. Concurrent builds wait for each other."""
    folder = built_folder()
    if folder.is_dir():
        return folder
    if shutil.which("go") is None:
        raise CannotBuildError("no `go` on PATH: install Go 1.26 or newer, or set KUBEBUILDER_ASSETS to such binaries")
    ASSETS.mkdir(exist_ok=True)
    with (ASSETS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for killed in ASSETS.glob("building-*"):
            shutil.rmtree(killed)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(prefix="building-", dir=ASSETS) as unfinished:
                compile_into(Path(unfinished), lock.fileno())
                (Path(unfinished) / "bin").rename(folder)
    return folder


def compile_into(unfinished: Path, lock: int) -> None:
    """Compiles every `tool` of go.mod into `unfinished/bin`. Go inherits the lock, in case this process is killed."""
    print(f"building the control plane ({kubernetes_version()}); this takes minutes, once", file=sys.stderr, flush=True)
    out = unfinished / "bin"
    out.mkdir()
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    command = ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", link_flags(), "-o", f"{out}{os.sep}", "tool"]
    done = subprocess.run(command, cwd=MODULE, env=environment, stdout=sys.stderr, pass_fds=[lock], check=False)
    if done.returncode != 0:
        raise CannotBuildError("`go build` failed, see above; its modules come from GOPROXY")
    for go_name, name in BUILT_AS.items():
        (out / go_name).rename(out / name)
    if missing := sorted(set(BINARIES) - {path.name for path in out.iterdir()}):
        raise CannotBuildError(f"{MODULE / 'go.mod'} has no `tool` line for {', '.join(missing)}")


def main() -> int:
    try:
        folder = build()
    except CannotBuildError as problem:
        print(f"controlplane: {problem}", file=sys.stderr)
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
