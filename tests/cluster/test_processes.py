"""Processes end with the tests, whatever ends the tests; no control plane needed."""

from __future__ import annotations

import http.server
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from testbed import workspace
from testbed.processes import Process, ProcessExitedError
from testbed.waiting import wait_for

ROOT = Path(__file__).resolve().parents[(__package__ or "").count(".") + 1]

WITH_A_CHILD = "import subprocess, sys; c = subprocess.Popen(['sleep', '600']); print(c.pid, flush=True); c.wait()"


def python(code: str, name: str = "python") -> Process:
    return Process(name, [sys.executable, "-c", code], workspace.current().log(name))


def alive(pid: int) -> bool:
    """Whether it runs; a dead one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def first_line(process: Process) -> str:
    return wait_for(f"{process.name} has printed", process.output, lambda text: "\n" in text).splitlines()[0]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_ending_a_process_ends_what_it_started(end: str) -> None:
    process = python(WITH_A_CHILD)
    process.start()
    child = int(first_line(process))
    if end == "stop":
        assert process.stop() == -signal.SIGTERM
    else:
        process.kill()
    wait_for("the child is gone", lambda: not alive(child), timeout=5)
    assert not process.running


def test_a_process_that_ignores_sigterm_is_killed_after_its_grace() -> None:
    ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    process = python(f"{ignore}; print('on', flush=True); time.sleep(600)")
    process.start()
    first_line(process)
    assert process.stop(grace=0.2) == -signal.SIGKILL


def test_a_restart_keeps_the_output_and_changes_the_pid() -> None:
    process = python("import time; print('on', flush=True); time.sleep(600)")
    process.start()
    first_line(process)
    before = process.pid
    process.restart()
    wait_for("it has printed twice", lambda: process.output() == "on\non\n")
    assert process.pid != before
    process.kill()


def test_a_process_outlives_the_thread_that_asked_for_it() -> None:
    process = python("import time; print('on', flush=True); time.sleep(600)")

    def ask() -> None:
        process.start()
        # Only now is it tied to anything.
        first_line(process)

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.kill()


def test_waiting_for_a_url_ends_at_once_when_the_process_does() -> None:
    process = python("import sys; sys.exit('no such option')")
    process.start()
    with pytest.raises(ProcessExitedError, match=r"python ended with code 1; the end of .*\nno such option"):
        process.wait_url("http://127.0.0.1:9/", timeout=60)


def test_waiting_for_a_url_waits_for_200() -> None:
    class Slow(http.server.BaseHTTPRequestHandler):
        asked = 0

        def do_GET(self) -> None:
            Slow.asked += 1
            self.send_response(200 if Slow.asked == 3 else 503)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        process = python("import time; time.sleep(600)")
        process.start()
        process.wait_url(f"http://127.0.0.1:{server.server_port}/readyz")
        process.kill()
        server.shutdown()
    assert Slow.asked == 3


def test_memory_counts_what_the_process_started() -> None:
    process = python("import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)")
    hold = "import time; held = bytearray(b'x' * (200 << 20)); print('on', flush=True); time.sleep(600)"
    process.arguments.append(hold)
    process.start()
    first_line(process)
    assert process.memory() > 200 << 20
    process.kill()


def test_cpu_counts_what_the_process_started() -> None:
    process = python("import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)")
    process.arguments.append(
        "import time\nwhile time.process_time() < 0.5: pass\nprint('on', flush=True); time.sleep(600)"
    )
    process.start()
    first_line(process)
    assert 0.4 < process.cpu() < 5
    process.kill()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_nothing_outlives_a_test_process(how: signal.Signals) -> None:
    """The process that it started dies with it; a grandchild is found by the next one's sweep."""
    code = (
        f"import sys; from {__package__} import workspace; from {__package__}.processes import Process\n"
        f"p = Process('p', [sys.executable, '-c', {WITH_A_CHILD!r}], workspace.current().log('p'))\n"
        "p.start()\n"
        "while not p.output(): pass\n"
        "print(workspace.current().root, p.pid, p.output(), flush=True)\n"
        "input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as victim:
        assert victim.stdout is not None
        folder, child, grandchild = victim.stdout.readline().split()
        os.kill(victim.pid, how)
    wait_for("the child is gone", lambda: not alive(int(child)), timeout=5)
    workspace.sweep()
    wait_for("the grandchild is gone", lambda: not alive(int(grandchild)), timeout=5)
    assert not Path(folder).exists()


def test_a_sweep_leaves_the_folders_of_the_living() -> None:
    mine = workspace.current()
    process = python("import time; time.sleep(600)")
    process.start()
    subprocess.run(
        [sys.executable, "-c", f"from {__package__} import workspace; workspace.sweep()"], cwd=ROOT, check=True
    )
    assert mine.logs.exists()
    assert process.running
    process.kill()
