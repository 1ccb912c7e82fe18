"""Child processes that never outlive the tests: started, watched, stopped, killed and started again."""

from __future__ import annotations

import contextlib
import os
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from testbed import die_with_parent, workspace
from testbed.waiting import wait_for

_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="starter")
"""Starts every process. The kernel ties a child to the *thread* that made it, so that thread lives until exit."""


class ProcessExitedError(Exception):
    """A process ended that should be running; the text has its exit code and the end of its output."""


class Process:
    """One program: its arguments stay the same over `start`, `stop`, `kill` and `restart`, its output goes to `log`.

    `stop` and `kill` leave nothing of it: the process group that it leads is killed after it.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[str | Path],
        log: Path,
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.name = name
        self.arguments = [str(argument) for argument in arguments]
        self.log = log
        self._environment = {**(os.environ if environment is None else environment)}
        self._environment[workspace.MARK] = str(workspace.current().root)
        self._folder = folder
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Raises ProcessExitedError where it was not started, or was stopped."""
        if self._child is None:
            raise ProcessExitedError(f"{self.name} is not started")
        return self._child.pid

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        if self.running:
            raise ProcessExitedError(f"{self.name} is started already, as process {self.pid}")
        self._child = _starter.submit(self._spawn).result()

    def _spawn(self) -> subprocess.Popen[bytes]:
        tied = [sys.executable, "-I", "-S", die_with_parent.__file__, str(os.getpid()), *self.arguments]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                tied,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                cwd=self._folder,
                start_new_session=True,
            )

    def stop(self, grace: float = 30) -> int:
        """SIGTERM, after `grace` seconds SIGKILL. Its exit code, negative for a signal; 0 if not started."""
        return self._end(signal.SIGTERM, grace)

    def kill(self) -> None:
        """SIGKILL, at once, to it and to what it started."""
        self._end(signal.SIGKILL, 10)

    def restart(self) -> None:
        self.stop()
        self.start()

    def _end(self, how: signal.Signals, grace: float) -> int:
        child, self._child = self._child, None
        if child is None:
            return 0
        child.send_signal(how)
        try:
            child.wait(grace)
        except subprocess.TimeoutExpired:
            child.kill()
        # Mostly nothing of the group is left.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        return child.wait()

    def wait(self, seconds: float = 30) -> int:
        """Waits for it to end by itself. The exit code. Raises subprocess.TimeoutExpired."""
        if self._child is None:
            raise ProcessExitedError(f"{self.name} is not started")
        return self._child.wait(seconds)

    def output(self) -> str:
        """All that it printed, over all its starts."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def check(self) -> None:
        """Raises ProcessExitedError if it is not running."""
        if self._child is None:
            raise ProcessExitedError(f"{self.name} is not started")
        if self._child.poll() is not None:
            code, end = self._child.returncode, "\n".join(self.output().splitlines()[-15:])
            raise ProcessExitedError(f"{self.name} ended with code {code}; the end of {self.log}:\n{end}")

    def wait_url(self, url: str, *, ca: Path | None = None, timeout: float = 30) -> None:
        """Waits until `url` answers 200. Raises ProcessExitedError at once if the process ends, else WaitTimeoutError.

        `ca` is what an https certificate is checked against; without it, it is not checked.
        """
        opener = _opener(ca)

        def status() -> int | str:
            self.check()
            try:
                with opener.open(url, timeout=2) as answer:
                    return int(answer.status)
            except urllib.error.HTTPError as refusal:
                with refusal:
                    return refusal.code
            except OSError as trouble:
                return str(trouble)

        wait_for(f"{self.name} answers 200 on {url}", status, lambda seen: seen == 200, timeout=timeout)

    def memory(self) -> int:
        """Resident bytes, of it and of all that it started (which share some of them)."""
        return sum(_resident(pid) for pid in _group(self.pid))

    def peak(self) -> int:
        """The most bytes that have been resident, of it and its children."""
        return sum(_peak(pid) for pid in _group(self.pid))

    def cpu(self) -> float:
        """Seconds of CPU time so far, of it and of all that it started and that still runs."""
        return sum(_cpu(pid) for pid in _group(self.pid))


def _opener(ca: Path | None) -> urllib.request.OpenerDirector:
    """Never through a proxy of the environment: everything here is on loopback."""
    context = ssl.create_default_context(cafile=ca)
    if ca is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))


def _group(leader: int) -> list[int]:
    """The processes of a session, by the sixth field of /proc/<pid>/stat."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(after_name[3]) == leader:
            found.append(int(stat.parent.name))
    return found


def _resident(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _peak(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)


def _cpu(pid: int) -> float:
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")
