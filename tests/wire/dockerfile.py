"""Builds the Dockerfile without a container engine: its steps run in a folder that replaces the root.

Absolute paths are mapped below that folder. The base image is a virtual environment with pip. Only the instructions
that our Dockerfile uses are supported; any other is an error.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Step(NamedTuple):
    instruction: str
    argument: str


class BuildFailed(Exception):
    """A step failed. The message has its output."""


@dataclass
class Image:
    """A built image: the files below `root`, and its configuration."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    folder: str = "/"


def parse(text: str) -> Iterator[Step]:
    """The instructions in order."""
    lines = iter(text.splitlines())
    for line in lines:
        while line.endswith("\\"):
            line = f"{line[:-1]} {next(lines).strip()}"
        if not line or line.startswith("#"):
            continue
        instruction, _, argument = line.partition(" ")
        yield Step(instruction, argument.strip())


def find_python(version: str) -> str | None:
    """The path of a Python of that minor version: this one, or `python3.x` on PATH, which may be a shim of pyenv."""
    code = "import sys; print(f'{sys.version_info.major}.{sys.version_info.minor}', sys.executable)"
    for program in (sys.executable, shutil.which(f"python{version}")):
        if program is not None:
            environment = {**os.environ, "PYENV_VERSION": version}
            result = subprocess.run([program, "-c", code], env=environment, capture_output=True, text=True, check=False)
            found, _, path = result.stdout.strip().partition(" ")
            if found == version:
                return path
    return None


def build(text: str, context: Path, root: Path, python: str, environment: Mapping[str, str]) -> Image:
    """Builds the last stage on a base image with `python`. `environment` is added to that of each RUN. Raises
    BuildFailed."""
    base = root.with_name("base")
    subprocess.run([python, "-m", "venv", str(base)], check=True)
    path = os.pathsep.join([str(base / "bin"), os.environ["PATH"]])
    image, previous_stage = Image(root), root.with_name("stage")
    for step in parse(text):
        match step.instruction:
            case "FROM":
                if root.exists():
                    root.rename(previous_stage)
                root.mkdir()
                image = Image(root, {"PATH": path})
            case "WORKDIR":
                image.folder = step.argument
                _below(root, step.argument).mkdir(parents=True, exist_ok=True)
            case "COPY":
                _copy(step, image, context, previous_stage)
            case "RUN":
                _run(step.argument, image, environment)
            case "ENV":
                for name, value in re.findall(r"(\w+)=(\S+)", step.argument):
                    image.environment[name] = _map_paths(value, root).replace("$PATH", image.environment["PATH"])
            case "ENTRYPOINT":
                image.entrypoint = re.findall(r'"([^"]+)"', step.argument)
            case "ARG" | "LABEL" | "USER" | "EXPOSE" | "CMD":
                pass
            case other:
                raise BuildFailed(f"{other}: not supported")
    # An image has only what was copied from previous stages.
    shutil.rmtree(previous_stage)
    return image


def _copy(step: Step, image: Image, context: Path, previous_stage: Path) -> None:
    *sources, target = step.argument.split()
    to = _below(image.root, target if target.startswith("/") else f"{image.folder}/{target}")
    if sources[0].startswith("--from="):
        # Moved back to the path at which it was created, which the scripts in it contain.
        to.parent.mkdir(parents=True, exist_ok=True)
        _below(previous_stage, sources[1]).rename(to)
        return
    for source in sources:
        if (context / source).is_dir():
            shutil.copytree(context / source, to, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(context / source, to)


def _run(command: str, image: Image, environment: Mapping[str, str]) -> None:
    result = subprocess.run(
        ["sh", "-euc", _map_paths(command, image.root)],
        cwd=_below(image.root, image.folder),
        env={**os.environ, **image.environment, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise BuildFailed(f"{command}\n{result.stdout[-4000:]}{result.stderr[-4000:]}")


def _map_paths(text: str, root: Path) -> str:
    """The text with its absolute paths mapped below the root."""
    return re.sub(r"(?<![\w.$*}/])/(?=\w)", f"{root}/", text)


def _below(root: Path, path: str) -> Path:
    return root / path.lstrip("/")
