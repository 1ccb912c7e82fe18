"""Finds the control plane's binaries: in KUBEBUILDER_ASSETS if set, else where `make controlplane` builds them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed import build


class NoAssetsError(Exception):
    """The set of binaries is incomplete. The message is one line with the remedy."""


@dataclass(frozen=True)
class Assets:
    """A folder with all of `build.BINARIES`."""

    folder: Path

    def __truediv__(self, binary: str) -> Path:
        return self.folder / binary


def find(environment: Mapping[str, str] = os.environ) -> Assets:
    """The binaries to use. Raises NoAssetsError if one is missing, since starting would fail less clearly."""
    given = environment.get("KUBEBUILDER_ASSETS")
    folder = Path(given) if given else build.built_folder()
    missing = [name for name in build.BINARIES if not os.access(folder / name, os.X_OK)]
    if not missing:
        return Assets(folder)
    if given:
        raise NoAssetsError(
            f"KUBEBUILDER_ASSETS={given} has no {', '.join(missing)}: put them beside what setup-envtest installed, "
            "or unset it and run `make controlplane`"
        )
    raise NoAssetsError("the control plane is not built: run `make controlplane` (needs Go), or set KUBEBUILDER_ASSETS")
