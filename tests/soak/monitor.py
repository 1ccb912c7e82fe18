"""Samples memory, certificates and logs from outside."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping

from cryptography import x509

from testbed.api import ApiError, UnreachableError
from testbed.certified import Installation
from testbed.processes import Process, ProcessExitedError
from tests.soak.result import Lines, Memory


class Monitor:
    """Samples every second the memory of each process and the content of the Secret. A context manager."""

    def __init__(self, installation: Installation, processes: Mapping[str, Process]) -> None:
        self._installation, self._processes = installation, processes
        self._cas: set[x509.Certificate] = set()
        self._trusted: set[x509.Certificate] = set()
        self._leaves: set[bytes] = set()
        self.memory: dict[str, Memory] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Monitor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def replaced(self) -> tuple[int, int]:
        """How many CAs are no longer trusted, and how many leaves were replaced."""
        return len(self._cas - self._trusted), len(self._leaves) - 1

    def begin(self) -> None:
        """Records the memory at the start."""
        for name, process in self._processes.items():
            resident = process.memory()
            self.memory[name] = Memory(resident, resident, resident)

    def end(self) -> None:
        """Records the memory at the end."""
        for name, memory in self.memory.items():
            memory.end = self._processes[name].memory()
            memory.most = max(memory.most, memory.end)

    def _sample(self) -> None:
        while not self._stop.wait(1.0):
            for name, memory in list(self.memory.items()):
                try:
                    memory.most = max(memory.most, self._processes[name].memory())
                except ProcessExitedError:
                    # It is being restarted.
                    continue
            try:
                data = self._installation.data()
            except (ApiError, UnreachableError):
                continue
            self._trusted = set(x509.load_pem_x509_certificates(data["ca.crt"]))
            self._cas |= self._trusted
            self._leaves.add(data["tls.crt"])


def lines(process: Process) -> Lines:
    """Counts the lines of its log."""
    counted = Lines()
    for line in process.output().splitlines():
        try:
            is_review = json.loads(line)["msg"] == "review"
        except (ValueError, KeyError, TypeError):
            is_review = False
        counted.reviews += is_review
        counted.others += not is_review
    return counted
