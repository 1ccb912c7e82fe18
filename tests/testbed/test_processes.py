"""Processes end with the test process, whatever ends it, and are measured with their children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from testbed import workspace
from testbed.processes import Process, ProcessExitedError
from testbed.programs import REPOSITORY
from testbed.waiting import wait_for

WITH_A_CHILD = "import subprocess, sys; c = subprocess.Popen(['sleep', '600']); print(c.pid, flush=True); c.wait()"


def python(code: str) -> Process:
    return Process("python", [sys.executable, "-c", code], workspace.current().log("python"))


def runs(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def first_line(process: Process) -> str:
    return wait_for(f"{process.name} has printed", process.output, lambda text: "\n" in text).splitlines()[0]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_stopping_a_process_ends_its_children(end: str) -> None:
    process = python(WITH_A_CHILD)
    process.start()
    child = int(first_line(process))
    if end == "stop":
        assert process.stop() == -signal.SIGTERM
    else:
        process.kill()
    wait_for("the child has ended", lambda: not runs(child), timeout=5)
    assert not process.running


def test_a_process_outlives_the_thread_that_started_it() -> None:
    process = python("import time; print('on', flush=True); time.sleep(600)")

    def start() -> None:
        process.start()
        # Only now has it asked the kernel to be killed with its parent.
        first_line(process)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.kill()


def test_waiting_for_a_url_fails_at_once_when_the_process_exits() -> None:
    process = python("import sys; sys.exit('no such option')")
    process.start()
    with pytest.raises(ProcessExitedError, match=r"python exited with code 1; the end of .*\nno such option"):
        process.wait_url("http://127.0.0.1:9/", timeout=60)


def test_memory_and_cpu_time_include_children() -> None:
    """Otherwise the limits in other tests would hold whatever the product uses."""
    process = python("import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)")
    process.arguments.append(
        "import time; held = bytearray(b'x' * (200 << 20))\nwhile time.process_time() < 0.5: pass\n"
        "print('on', flush=True); time.sleep(600)"
    )
    process.start()
    first_line(process)
    assert process.memory() > 200 << 20
    assert 0.4 < process.cpu() < 5
    process.kill()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_nothing_outlives_a_test_process(how: signal.Signals) -> None:
    """Its child is killed with it; the sweep of the next test process ends a grandchild."""
    code = (
        "import sys; from testbed import workspace; from testbed.processes import Process\n"
        f"p = Process('p', [sys.executable, '-c', {WITH_A_CHILD!r}], workspace.current().log('p'))\n"
        "p.start()\n"
        "while not p.output(): pass\n"
        "print(workspace.current().root, p.pid, p.output(), flush=True)\n"
        "input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as victim:
        assert victim.stdout is not None
        folder, child, grandchild = victim.stdout.readline().split()
        os.kill(victim.pid, how)
    wait_for("the child has ended", lambda: not runs(int(child)), timeout=5)
    workspace.sweep()
    wait_for("the grandchild has ended", lambda: not runs(int(grandchild)), timeout=5)
    assert not Path(folder).exists()


def test_a_sweep_leaves_the_folders_of_running_test_processes() -> None:
    process = python("import time; time.sleep(600)")
    process.start()
    subprocess.run(
        [sys.executable, "-c", "from testbed import workspace; workspace.sweep()"], cwd=REPOSITORY, check=True
    )
    assert workspace.current().logs.exists()
    assert process.running
    process.kill()
