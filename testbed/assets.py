"""Where the control plane's binaries are: KUBEBUILDER_ASSETS if set, else what `make controlplane` has built."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed import build


class NoAssetsError(Exception):
    """There is no complete set of binaries; the text is one line that says what to do."""


@dataclass(frozen=True)
class Assets:
    """A folder that holds every one of `build.BINARIES`."""

    folder: Path

    def __truediv__(self, binary: str) -> Path:
        return self.folder / binary


def find(environment: Mapping[str, str] = os.environ) -> Assets:
    """The binaries to use. Raises NoAssetsError if one is missing: half a set would fail later and less clearly."""
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
