"""Child processes that never outlive the test process."""

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
"""Starts every process. The kernel kills a child when the *thread* that started it ends: this one lives until exit."""


class ProcessExitedError(Exception):
    """A process that should run has exited. The message has its exit code and the end of its output."""


class Process:
    """A program with fixed arguments that can be started repeatedly. Its output goes to `log`.

    `stop` and `kill` also kill its process group.
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
        """Raises ProcessExitedError if it was not started or was stopped."""
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
        command = [sys.executable, "-I", "-S", die_with_parent.__file__, str(os.getpid()), *self.arguments]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                cwd=self._folder,
                start_new_session=True,
            )

    def stop(self, grace: float = 30) -> int:
        """Sends SIGTERM, and SIGKILL after `grace` seconds. The exit code, negative for a signal; 0 if not started."""
        return self._end(signal.SIGTERM, grace)

    def kill(self) -> None:
        """Sends SIGKILL to it and its children."""
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
        # Usually the group is empty by now.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        return child.wait()

    def wait(self, seconds: float = 30) -> int:
        """Waits until it exits by itself. Returns the exit code. Raises subprocess.TimeoutExpired."""
        if self._child is None:
            raise ProcessExitedError(f"{self.name} is not started")
        return self._child.wait(seconds)

    def output(self) -> str:
        """The output of all its starts."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def check(self) -> None:
        """Raises ProcessExitedError if it is not running."""
        if self._child is None:
            raise ProcessExitedError(f"{self.name} is not started")
        if self._child.poll() is not None:
            code, end = self._child.returncode, "\n".join(self.output().splitlines()[-15:])
            raise ProcessExitedError(f"{self.name} exited with code {code}; the end of {self.log}:\n{end}")

    def wait_url(self, url: str, *, ca: Path | None = None, timeout: float = 30) -> None:
        """Waits until `url` returns 200. Raises ProcessExitedError as soon as the process exits, else WaitTimeoutError.

        An https certificate is verified against `ca`, and not verified without it.
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

        wait_for(f"{self.name} returns 200 on {url}", status, lambda found: found == 200, timeout=timeout)

    def memory(self) -> int:
        """Resident bytes of it and its children, shared pages counted repeatedly."""
        return sum(_resident(pid) for pid in _group(self.pid))

    def peak(self) -> int:
        """Peak resident bytes of it and its children."""
        return sum(_peak(pid) for pid in _group(self.pid))

    def cpu(self) -> float:
        """Seconds of CPU time so far, of it and its running children."""
        return sum(_cpu(pid) for pid in _group(self.pid))


def _opener(ca: Path | None) -> urllib.request.OpenerDirector:
    """Ignores proxies of the environment: all servers are on loopback."""
    context = ssl.create_default_context(cafile=ca)
    if ca is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))


def _group(leader: int) -> list[int]:
    """The process ids of a session, from the sixth field of /proc/<pid>/stat."""
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
