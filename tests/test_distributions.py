"""The wheel and the sdist: all of the product, nothing else, and what is built from either is the same."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("webhook", "certs")
MAX_BYTES = 1_000_000


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both; the wheel is built from the sdist. What builds them comes from the package index: skipped
    without one, and failed if CI is set."""
    source, made = tmp_path_factory.mktemp("source") / "modelfit", tmp_path_factory.mktemp("dist")
    ignored = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "build", "dist")
    shutil.copytree(ROOT, source, ignore=ignored)
    done = subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(made), str(source)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0 and "establish a new connection" in done.stdout + done.stderr and not os.environ.get("CI"):
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def sources() -> set[str]:
    """The files of the product: its modules and the markers that they are typed (PEP 561)."""
    patterns = ("*.py", "py.typed")
    found = (path for package in PACKAGES for pattern in patterns for path in (ROOT / package).rglob(pattern))
    return {str(path.relative_to(ROOT)) for path in found}


def test_the_wheel_has_the_whole_product_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert wheel.stat().st_size < MAX_BYTES
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if ".dist-info/" not in name} == sources()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_sdist_has_the_whole_product_and_nothing_else(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    assert sdist.stat().st_size < MAX_BYTES
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    metadata = {"PKG-INFO", "setup.cfg", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"}
    assert {name for name in names if ".egg-info/" not in name} == sources() | metadata


def test_the_wheel_installs_alone(built: Path, tmp_path: Path) -> None:
    """Without its dependencies, of which the core has none; tests/wire/test_image.py installs them too."""
    (wheel,) = built.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    quiet = ["--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([python, "-m", "pip", "install", *quiet, wheel], check=True)
    code = "from webhook.core.admission import decide; from webhook import constants; print(constants.MODEL_FIT)"
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "llmfit.ai/model-fit\n"
    assert python.with_name("modelfit").exists()
