"""The image, built by the steps of the Dockerfile, runs."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.core import builders
from tests.wire import dockerfile
from tests.wire.server_process import Launcher, post_review
from tools.lock import PYTHON

ROOT = Path(__file__).parents[2]


@dataclass
class ImageLauncher(Launcher):
    """Starts the program in an image."""

    program: Path = Path()

    def command(self, port: int, *arguments: str, host: str = "127.0.0.1") -> list[str]:
        pair = [f"--cert={self.certificate}", f"--key={self.key}"]
        return [str(self.program), "serve", f"--host={host}", f"--port={port}", *pair, *arguments]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> dockerfile.Image:
    """The built image. Needs a package index and the image's Python: without them, the tests are skipped, or fail if CI
    is set."""
    root = tmp_path_factory.mktemp("image") / "root"
    python = dockerfile.find_python(PYTHON)
    if python is None:
        assert not os.environ.get("CI"), f"there is no Python {PYTHON}"
        pytest.skip(f"there is no Python {PYTHON}, whose wheels are in requirements.lock")
    quick = {"PIP_RETRIES": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        return dockerfile.build((ROOT / "Dockerfile").read_text(), ROOT, root, python, quick)
    except dockerfile.BuildFailed as failed:
        if "establish a new connection" in str(failed) and not os.environ.get("CI"):
            pytest.skip("no package index can be reached")
        raise


def test_the_image_serves_with_its_entrypoint(image: dockerfile.Image, launcher: Launcher) -> None:
    (name,) = image.entrypoint
    program = image.root / "opt" / "modelfit" / "bin" / name
    assert image.environment["PATH"].startswith(f"{program.parent}{os.pathsep}")
    ours = ImageLauncher(launcher.certificate, launcher.key, launcher.ca_file, launcher.folder, program=program)
    # Without the environment and the source folder of this process.
    environ = {name: value for name, value in image.environment.items() if name != "PATH"}
    with ours.serving(environ=environ, cwd="/") as server:
        assert post_review(server.client(), "uid")["allowed"]
        assert server.stop() == 0


def test_the_image_has_every_command_and_no_build_tools(image: dockerfile.Image) -> None:
    python = image.root / "opt" / "modelfit" / "bin" / "python"
    program = python.with_name("modelfit")
    for command in ("convert", "preview", "serve", "controller", "certs"):
        subprocess.run([program, command, "--help"], cwd="/", capture_output=True, check=True)
    fit = subprocess.run(
        [program, "convert", "-"], input=builders.FIT.encode(), cwd="/", capture_output=True, check=True
    )
    assert b"kind: ResourceClaim" in fit.stdout
    listed = subprocess.run(
        [python, "-c", "import importlib.metadata as m, json; print(json.dumps([d.name for d in m.distributions()]))"],
        cwd="/",
        capture_output=True,
        check=True,
    )
    names = set(json.loads(listed.stdout))
    assert "modelfit-webhook" in names
    assert not names & {"pip", "setuptools", "wheel", "pytest"}
    # Compiled at build time, because the root file system of a pod is read-only.
    assert list(
        (python.parents[1] / "lib").glob("python3*/site-packages/webhook/core/admission/__pycache__/decide.*.pyc")
    )
    assert not (image.root / "src").exists()
