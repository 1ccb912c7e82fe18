"""Runs the commands of a page in docs/: its code blocks marked `sh`."""

import os
import re
import subprocess
import sys
from pathlib import Path

from testbed import assets
from testbed.programs import REPOSITORY
from tests.chart.helm import Helm
from tests.chart.installing import Cluster


class Page:
    """docs/`name`."""

    def __init__(self, name: str) -> None:
        self.text = (REPOSITORY / "docs" / name).read_text()

    def blocks(self, heading: str, language: str = "sh") -> list[str]:
        """The code blocks under a heading of any level, up to the next heading."""
        sections = dict(re.findall(r"^#+ (.+?)\n(.*?)(?=^#+ |\Z)", _without_comments(self.text), re.M | re.S))
        return re.findall(rf"^```{language}\n(.*?)^```$", sections[heading], re.MULTILINE | re.DOTALL)


def _without_comments(text: str) -> str:
    """Indents lines in code blocks that begin with #, so that they are not taken for headings."""
    return re.sub(r"(?ms)^```.*?^```$", lambda block: re.sub(r"(?m)^#", " #", block.group()), text)


class Shell:
    """A shell in the repository root with helm, kubectl and modelfit on PATH."""

    def __init__(self, cluster: Cluster, helm: Helm, folder: Path, page: Page) -> None:
        programs = folder / "bin"
        programs.mkdir()
        (programs / "helm").symlink_to(helm.path)
        (programs / "kubectl").symlink_to(assets.find() / "kubectl")
        modelfit = programs / "modelfit"
        modelfit.write_text(f'#!/bin/sh\nexec {sys.executable} -m webhook.cli "$@"\n')
        modelfit.chmod(0o755)
        (folder / "charts").symlink_to(REPOSITORY / "charts")
        self._folder, self._page = folder, page
        self._environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(folder),
            "KUBECONFIG": str(cluster.plane.kubeconfig()),
            "PYTHONPATH": str(REPOSITORY),
        }

    def run(self, heading: str, number: int = 0) -> str:
        """Runs a code block of a section and returns stdout and stderr. Fails if a command fails."""
        completed = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self._page.blocks(heading)[number]],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert completed.returncode == 0, completed.stdout
        return completed.stdout
