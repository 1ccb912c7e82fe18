"""The temporary folder of a test process, and the removal of those that killed test processes left behind.

A test process holds a lock on its folder until it ends, however it ends. A folder whose lock is free belongs to a dead
process: `sweep` kills the processes that still run for it and removes it. Every process started for a folder carries
`MARK` in its environment, and so do its children.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import os
import shutil
import signal
import tempfile
from pathlib import Path

PREFIX = "modelfit-testbed-"
MARK = "TESTBED_FOLDER"
"""Not `MODELFIT_…`: those are settings of the product."""


class Workspace:
    """The folder of this process: `root` for data, `logs` for the output of its processes."""

    def __init__(self) -> None:
        sweep()
        self.root = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.logs = self.root / "logs"
        self.logs.mkdir()
        self._owner = os.getpid()
        self._lock = (self.root / "unlocked").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # Renamed last: the sweep of another process never finds it unlocked.
        (self.root / "unlocked").rename(self.root / "lock")
        self._folders = 0

    def folder(self, name: str) -> Path:
        """A new empty folder, `<name>-<n>`."""
        self._folders += 1
        made = self.root / f"{name}-{self._folders}"
        made.mkdir()
        return made

    def log(self, name: str) -> Path:
        """A new log file for a process of that name: `<name>-<n>.log`."""
        self._folders += 1
        return self.logs / f"{name}-{self._folders}.log"

    def remove(self) -> None:
        """Kills the processes of the folder, then removes it. Does nothing in a fork of the owner."""
        if os.getpid() != self._owner:
            return
        _end(self.root)
        self._lock.close()


@functools.cache
def current() -> Workspace:
    """This process's workspace, created at first use and removed at exit."""
    made = Workspace()
    atexit.register(made.remove)
    return made


def sweep() -> None:
    """Kills the processes of dead test processes and removes their folders."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            lock = (folder / "lock").open()
        except OSError:
            # Being created or removed by a running process, or another user's.
            continue
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            _end(folder)


def running_for(folder: Path) -> list[int]:
    """The ids of the processes that carry the folder's mark; none without /proc."""
    mark = f"{MARK}={folder}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            # Ended meanwhile, or another user's.
            continue
        if mark in environment.split(b"\0"):
            found.append(int(entry.name))
    return found


def remove_folder(folder: Path) -> None:
    """Removes a folder whose processes are dead. Retries, since their last writes may interfere."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return


def _end(folder: Path) -> None:
    for pid in running_for(folder):
        # It may have ended since it was listed.
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    remove_folder(folder)
