"""The Dockerfile carried out without a container engine: its steps run in a folder that stands for the root.

Absolute paths are taken to be below that folder; a base image is a virtual environment with pip. Only what our
Dockerfile uses is understood, and anything else is an error.
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
    """One instruction; `document` is the text that follows it up to EOF."""

    instruction: str
    argument: str
    document: str


class BuildFailed(Exception):
    """A step ended with an error; the text is what it said."""


@dataclass
class Image:
    """What was built: files below `root`, and how they are run."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    folder: str = "/"


def steps(text: str) -> Iterator[Step]:
    """The instructions in their order."""
    lines = iter(text.splitlines())
    for line in lines:
        while line.endswith("\\"):
            line = f"{line[:-1]} {next(lines).strip()}"
        if not line or line.startswith("#"):
            continue
        instruction, _, argument = line.partition(" ")
        document = "".join(f"{each}\n" for each in iter(lines.__next__, "EOF")) if "<<EOF" in argument else ""
        yield Step(instruction, argument.strip(), document)


def build(text: str, context: Path, root: Path, environment: Mapping[str, str]) -> Image:
    """Carries out the Dockerfile; `environment` is added to that of each RUN. Raises BuildFailed."""
    base = root.with_name("base")
    subprocess.run([sys.executable, "-m", "venv", str(base)], check=True)
    path = os.pathsep.join([str(base / "bin"), os.environ["PATH"]])
    image, earlier = Image(root), root.with_name("stage")
    for step in steps(text):
        match step.instruction:
            case "FROM":
                if root.exists():
                    root.rename(earlier)
                root.mkdir()
                image = Image(root, {"PATH": path})
            case "WORKDIR":
                image.folder = step.argument
                _below(root, step.argument).mkdir(parents=True, exist_ok=True)
            case "COPY":
                _copy(step, image, context, earlier)
            case "RUN":
                _run(step.argument, image, environment)
            case "ENV":
                for name, value in re.findall(r"(\w+)=(\S+)", step.argument):
                    image.environment[name] = _placed(value, root).replace("$PATH", image.environment["PATH"])
            case "ENTRYPOINT":
                image.entrypoint = re.findall(r'"([^"]+)"', step.argument)
            case "ARG" | "LABEL" | "USER" | "EXPOSE" | "CMD":
                pass
            case other:
                raise BuildFailed(f"{other}: not understood")
    # Of the earlier stages an image has what was copied.
    shutil.rmtree(earlier)
    return image


def _copy(step: Step, image: Image, context: Path, earlier: Path) -> None:
    *sources, target = step.argument.split()
    to = _below(image.root, target if target.startswith("/") else f"{image.folder}/{target}")
    if sources[0] == "<<EOF":
        to.write_text(step.document)
        return
    if sources[0].startswith("--from="):
        # Moved, so that what is written in the files about their own place stays true.
        to.parent.mkdir(parents=True, exist_ok=True)
        _below(earlier, sources[1]).rename(to)
        return
    for source in sources:
        if (context / source).is_dir():
            shutil.copytree(context / source, to, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(context / source, to)


def _run(command: str, image: Image, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        ["sh", "-euc", _placed(command, image.root)],
        cwd=_below(image.root, image.folder),
        env={**os.environ, **image.environment, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BuildFailed(f"{command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


def _placed(text: str, root: Path) -> str:
    """The text with its absolute paths below the root."""
    return re.sub(r"(?<![\w.$*}/])/(?=\w)", f"{root}/", text)


def _below(root: Path, path: str) -> Path:
    return root / path.lstrip("/")
