"""`python -m tools.lock` writes the image's lock files: the newest allowed versions, with the hashes of their wheels.

pip accepts no other file. It runs no code of a package while it installs, because there is no sdist. Needs uv.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUNTIME, BUILD = ROOT / "requirements.lock", ROOT / "requirements-build.lock"
PYTHON = "3.13"
"""The Python of the image."""
PLATFORMS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")

_HEADER = (
    "# `make lock` writes this file: wheels for Python {python} on Linux, x86_64 and aarch64. The image installs it.\n"
)


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for path, requirements in (
        (RUNTIME, project["project"]["dependencies"]),
        (BUILD, project["build-system"]["requires"]),
    ):
        path.write_text(render([resolve(requirements, platform) for platform in PLATFORMS]), "utf-8")


def resolve(requirements: Iterable[str], platform: str) -> str:
    """The lock file (pylock.toml, PEP 751) for a platform."""
    command = [shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv", "pip", "compile", "--quiet"]
    command += ["--no-header", "--format", "pylock.toml", "--only-binary", ":all:"]
    command += ["--python-version", PYTHON, "--python-platform", platform, "-"]
    text = "\n".join(requirements)
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def render(locks: Iterable[str]) -> str:
    """The lock files of all platforms as one requirements file with hashes."""
    hashes: dict[str, set[str]] = {}
    for package in (package for lock in locks for package in tomllib.loads(lock)["packages"]):
        found = hashes.setdefault(f"{package['name']}=={package['version']}", set())
        found.update(wheel["hashes"]["sha256"] for wheel in package["wheels"])
    lines = [
        " \\\n".join([pin, *(f"    --hash=sha256:{each}" for each in sorted(hashes[pin]))]) for pin in sorted(hashes)
    ]
    return _HEADER.format(python=PYTHON) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
