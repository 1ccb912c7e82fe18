"""The one temporary folder of a test process, and the removal of what dead test processes left behind.

A test process holds a lock on its folder for as long as it lives; the kernel drops the lock however the process ends.
So a folder whose lock can be had is a dead process's: everything that still runs for it is killed, and it is removed.
Every process started for a folder carries `MARK` in its environment, and so does what it starts itself.
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
"""Not `MODELFIT_…`: those are settings of the program under test."""


class Workspace:
    """A folder of this process: `root` for data, `logs` for what the processes print (kept until the very end)."""

    def __init__(self) -> None:
        sweep()
        self.root = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.logs = self.root / "logs"
        self.logs.mkdir()
        self._owner = os.getpid()
        self._lock = (self.root / "unlocked").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # Under its right name only now: another process's sweep never sees it without its lock.
        (self.root / "unlocked").rename(self.root / "lock")
        self._folders = 0

    def folder(self, name: str) -> Path:
        """A new empty folder, `<name>-<n>`."""
        self._folders += 1
        made = self.root / f"{name}-{self._folders}"
        made.mkdir()
        return made

    def log(self, name: str) -> Path:
        """Where a process of that name writes what it prints: `<name>-<n>.log`, new at each call."""
        self._folders += 1
        return self.logs / f"{name}-{self._folders}.log"

    def remove(self) -> None:
        """Kills what still runs for the folder, then removes it. Only the process that made it does so, not a fork."""
        if os.getpid() != self._owner:
            return
        _end(self.root)
        self._lock.close()


@functools.cache
def current() -> Workspace:
    """This process's workspace, made at first use and removed at exit."""
    made = Workspace()
    atexit.register(made.remove)
    return made


def sweep() -> None:
    """Removes the folders of test processes that are dead, and kills what they left running."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            lock = (folder / "lock").open()
        except OSError:
            # Just being made or removed by a living process, or another user's.
            continue
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            _end(folder)


def running_for(folder: Path) -> list[int]:
    """The process ids that carry the folder's mark. Empty where there is no /proc."""
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
    """Removes a folder whose processes are dead. What they were still writing a moment ago may be in the way once."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return


def _end(folder: Path) -> None:
    for pid in running_for(folder):
        # It may have ended by itself between being listed and now.
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    remove_folder(folder)
