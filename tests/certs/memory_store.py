"""A store that behaves as an API server does with a Secret: versions, 409 on create, 409 on a stale update."""

from collections.abc import Mapping

from certs.errors import Conflict, Exists
from certs.store import Stored


class MemoryStore:
    def __init__(self, data: Mapping[str, bytes] | None = None) -> None:
        self.stored = None if data is None else Stored(dict(data), "1")
        self.writes = 0

    def read(self) -> Stored | None:
        return self.stored

    def create(self, data: Mapping[str, bytes]) -> None:
        if self.stored is not None:
            raise Exists("there is one")
        self._put(data)

    def write(self, data: Mapping[str, bytes], expected_version: str) -> None:
        if self.stored is None or self.stored.version != expected_version:
            raise Conflict("another version")
        self._put(data)

    def damage(self, **entries: bytes | None) -> None:
        """Changes entries behind everybody's back, `**{"ca.key": b"..."}`; None removes one."""
        assert self.stored is not None
        data = {**self.stored.data, **{name: value for name, value in entries.items() if value is not None}}
        for name, value in entries.items():
            if value is None:
                data.pop(name, None)
        self.stored = Stored(data, f"{self.stored.version}-damaged")

    def _put(self, data: Mapping[str, bytes]) -> None:
        self.writes += 1
        self.stored = Stored(dict(data), f"write-{self.writes}")
