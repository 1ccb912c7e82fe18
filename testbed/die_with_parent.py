"""Runs a program that is killed when its parent ends: `python die_with_parent.py <parent's pid> <command…>`.

Asks the kernel to kill this process when its parent's thread ends (PR_SET_PDEATHSIG), then executes the program; the
request survives the exec. It is a program of its own, since code between fork and exec in a process with threads can
deadlock. It imports nothing of the package. Linux only: elsewhere the next test process's `workspace.sweep` ends it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            # The parent ended before the kernel was asked.
            sys.exit(1)
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
