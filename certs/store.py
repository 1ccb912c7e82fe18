"""Where the certificates are kept: one protocol for a Secret and for a directory.

Optimistic: whoever writes says which version was read, and loses if there is another by now. So several renewers need
no leader to stay right, only to be quiet.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store holds."""

    data: Mapping[str, bytes] = field(repr=False)
    """Entry name → bytes, see `certs.entries`; entries of other names do not matter. Holds private keys."""

    version: str
    """Opaque; changes with every change of the data. A Secret's resourceVersion."""


class Store(Protocol):
    """What a store must do. Errors of its own, such as a network's, pass through the callers here untouched."""

    def read(self) -> Stored | None:
        """What is stored, whole and of one moment; None where there is nothing yet. Empty data is something."""

    def create(self, data: Mapping[str, bytes]) -> None:
        """The first version, all or nothing. Raises Exists where there is one."""

    def write(self, data: Mapping[str, bytes], expected_version: str) -> None:
        """Replaces the entries of `certs.entries.ALL`, all or nothing: those not in `data` are removed. Raises
        Conflict where the stored version is another than `expected_version`, or is gone."""
