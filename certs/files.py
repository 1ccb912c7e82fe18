"""A store that is a directory, laid out as the kubelet lays out a mounted Secret:

    directory/
      ..3f9a…/  tls.crt tls.key ca.crt …    one generation; never changed once it is complete
      ..data -> ..3f9a…                     which generation counts: one rename flips all files at once
      tls.crt -> ..data/tls.crt             what programs open

A reader that takes a key and its certificate through `generation` gets both of one generation. Opening the two links
one after the other may straddle a flip, here as on a kubelet's mount. Private keys have mode 0600.
"""

import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from certs import entries
from certs.errors import Conflict, Exists, StoreError
from certs.store import Stored

DATA = "..data"
LOCK = "..lock"
READS = 16
"""Attempts to read a generation that is being replaced meanwhile. Two are rare: a writer keeps the one before."""


def generation(directory: Path) -> Path:
    """The directory to load a certificate and its key from, so that both are of one generation; `directory` itself
    where plain files are kept. It may be gone soon: after a FileNotFoundError ask again."""
    try:
        return directory / os.readlink(directory / DATA)
    except OSError:
        return directory


@dataclass(frozen=True, slots=True)
class FileStore:
    """A `Store` in a directory, which is made if need be. Also reads, and takes over, a directory of plain files.
    Safe among threads and processes of one host. Other files in the directory are left alone."""

    directory: Path

    def read(self) -> Stored | None:
        for _ in range(READS):
            folder = generation(self.directory)
            data = _entries(folder)
            if generation(self.directory) == folder:
                return Stored(data, _digest(data)) if data or folder != self.directory else None
        raise StoreError(f"{self.directory}: changes faster than it can be read; want a directory with one writer")

    def create(self, data: Mapping[str, bytes]) -> None:
        with self._locked():
            if self.read() is not None:
                raise Exists(f"{self.directory}: there are certificates already")
            self._put(data)

    def write(self, data: Mapping[str, bytes], expected_version: str) -> None:
        with self._locked():
            stored = self.read()
            if stored is None or stored.version != expected_version:
                raise Conflict(f"{self.directory}: was changed since it was read")
            if not all((self.directory / name).is_symlink() for name in stored.data):
                # Plain files become links while they say what they said before; only then the content changes.
                self._put(stored.data)
            self._put(data)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time. The kernel lets go of the lock when its holder dies."""
        self.directory.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _put(self, data: Mapping[str, bytes]) -> None:
        before = generation(self.directory)
        fresh = self.directory / f"..{secrets.token_hex(8)}"
        _fill(fresh, data)
        # A link before the flip leads nowhere, which is what a reader may see; a writer killed after the flip would
        # leave it out. A plain file becomes a link only after the flip, when both say the same.
        for name in data:
            if not os.path.lexists(self.directory / name):
                self._link(name, f"{DATA}/{name}")
        self._link(DATA, fresh.name)
        for name in data:
            self._link(name, f"{DATA}/{name}")
        for name in set(entries.ALL) - set(data):
            (self.directory / name).unlink(missing_ok=True)
        _sync(self.directory)
        self._prune(keep={fresh.name, before.name})

    def _link(self, name: str, target: str) -> None:
        """Points `name` at `target` in one step, whatever it was before."""
        if (self.directory / name).is_symlink() and os.readlink(self.directory / name) == target:
            return
        temporary = self.directory / f"..{secrets.token_hex(8)}.link"
        temporary.symlink_to(target)
        temporary.replace(self.directory / name)

    def _prune(self, keep: set[str]) -> None:
        """Removes old generations and what a killed writer left; not the one before, which somebody may be reading."""
        for path in list(self.directory.iterdir()):
            if not path.name.startswith("..") or path.name in keep | {DATA, LOCK}:
                continue
            if path.is_symlink():
                path.unlink()
            else:
                shutil.rmtree(path)


def _entries(folder: Path) -> dict[str, bytes]:
    found = {}
    for name in entries.ALL:
        try:
            found[name] = (folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
    return found


def _digest(data: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(data):
        digest.update(f"{name}:{len(data[name])}:".encode() + data[name])
    return digest.hexdigest()


def _fill(folder: Path, data: Mapping[str, bytes]) -> None:
    folder.mkdir(mode=0o755)
    for name, content in data.items():
        mode = 0o600 if name in entries.PRIVATE else 0o644
        target = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(target, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    _sync(folder)


def _sync(folder: Path) -> None:
    """A rename is on the disk when its directory is."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
