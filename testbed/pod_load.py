"""Creates pods at a fixed rate from a separate process, so that the measuring test does not slow the clients down."""

from __future__ import annotations

import multiprocessing
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from testbed.api import Api, ApiError, JsonObject
from testbed.controlplane import ControlPlane
from testbed.latency import percentile

CLIENTS = 32


@dataclass
class LoadResult:
    """The result of a run."""

    seconds: float = 0.0
    """From the first pod's due time to the last answer."""
    last: JsonObject = field(default_factory=dict)
    """The pod that was created last."""
    times: list[float] = field(default_factory=list)
    """Seconds per admitted pod, from its due time: a late start counts."""
    refused: list[str] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Admitted pods per second."""
        return len(self.times) / self.seconds

    def __str__(self) -> str:
        p50, p99 = (percentile(self.times, each) * 1000 for each in (50, 99))
        return f"{self.per_second:.0f} pods/s (p50 {p50:.0f} ms, p99 {p99:.0f} ms)"


def create_pods_at_rate(
    plane: ControlPlane, namespace: str, manifest: JsonObject, *, per_second: float, seconds: float
) -> LoadResult:
    """Creates the pod in dry runs: the whole of admission, and nothing to clean up."""
    arguments = (plane.server, plane.ca, plane.token(), namespace, manifest, per_second, seconds)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(_create_pods, *arguments).result()


def _create_pods(
    server: str, ca: Path, token: str, namespace: str, manifest: JsonObject, per_second: float, seconds: float
) -> LoadResult:
    api, result = Api(server, ca, token, connections=CLIENTS), LoadResult()
    turns = iter(range(int(per_second * seconds)))
    lock = threading.Lock()
    began = time.monotonic()

    def create() -> None:
        while True:
            with lock:
                turn = next(turns, None)
            if turn is None:
                return
            due = began + turn / per_second
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                result.last = api.create(manifest, namespace, dryRun="All")
                result.times.append(time.monotonic() - due)
            except ApiError as refusal:
                result.refused.append(str(refusal))

    threads = [threading.Thread(target=create) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    result.seconds = time.monotonic() - began
    return result
