"""Ties a process to the life of the one that started it: `python tether.py <starter's pid> <program> <arguments…>`.

Asks the kernel to kill this process when its starter's thread ends, then becomes the program; the request survives the
exec. It runs as a program of its own, since code between fork and exec in a process with threads can deadlock. Nothing
here imports the package. Linux only; elsewhere the program runs untied and the sweep of the next test process ends it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    starter, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != starter:
            # It died before the kernel was asked.
            sys.exit(1)
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
