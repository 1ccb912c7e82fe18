"""One namespace whose claims are all refused must not delay the others: `make soak-fairness PODS=n`, or
`python -m tests.soak.fairness`.

A namespace with a quota of 0 claims gets n injected pods. Measured before and with them on the same control plane:
the time until a pod of another namespace has its claim, the same for pods that wait for a new leader, the refused calls
and the log lines. The figures with the flood are compared with those in quiet, and are not compared with a clock.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from testbed.api import JsonObject
from testbed.controllers import Controller, controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import create_all, injected_pod
from testbed.latency import percentile
from testbed.namespaces import Namespace
from testbed.waiting import wait_for

SAMPLES = 30
"""Pods that are measured one after the other."""
WAITING = 5
"""Pods that wait for a new leader."""
SLOWER = 10
"""Factor by which the flood may multiply a wait, which in quiet is that of a few calls: a pod that waits behind 500
others waits some hundred times as long."""
AHEAD = 50
"""Refused calls that a new leader may make before the pods of the other namespace have their claims."""
REFUSED_PER_SECOND = 3.0
LINES_PER_MINUTE = 20.0


@dataclass(frozen=True)
class Figures:
    """What was measured, in quiet or with the flood."""

    wait: float
    """Median seconds until a pod has its claim."""
    longest: float
    after_change: float
    """Seconds from the change of leader until each of the waiting pods has its claim."""
    ahead: float
    """Refused calls of the new leader in that time."""
    refused_per_second: float
    lines_per_minute: float
    """Log lines of the leader, without those about created claims."""

    def __str__(self) -> str:
        return (
            f"wait {self.wait * 1000:.0f} ms (longest {self.longest * 1000:.0f} ms), after a change of leader"
            f" {self.after_change * 1000:.0f} ms and {self.ahead:.0f} refused calls; {self.refused_per_second:.2f}"
            f" refused calls/s, {self.lines_per_minute:.0f} log lines/min"
        )


def violations(quiet: Figures, flooded: Figures) -> list[str]:
    """The requirements that do not hold, as sentences."""
    # A single wait is compared with the longest: on a busy machine, single ones vary.
    quiet_longest = max(quiet.after_change, quiet.longest)
    upper_limits = (
        ("the median wait, in quiet ones", flooded.wait / quiet.wait, SLOWER),
        ("the wait after a change of leader, in quiet ones", flooded.after_change / quiet_longest, SLOWER),
        ("refused calls before the claims of others", flooded.ahead, AHEAD),
        ("refused calls per second", flooded.refused_per_second, REFUSED_PER_SECOND),
        ("log lines per minute", flooded.lines_per_minute, LINES_PER_MINUTE),
    )
    return [f"{what}: {value:.1f}, at most {limit:g}" for what, value, limit in upper_limits if value > limit]


def run(plane: ControlPlane, pods: int, seconds: float) -> tuple[Figures, Figures]:
    """Measures in quiet and with the flood, each for `seconds` and over a change of leader."""
    with two_replicas(plane) as (first, second):
        elsewhere, refused = Namespace(plane.api()), Namespace(plane.api())
        try:
            quiet = measure(elsewhere, first, second, seconds)
            first.start()
            forbid_claims(refused)
            create_all(refused, [injected_pod(f"refused-{number}") for number in range(pods)])
            wait_for("a claim was refused", lambda: refused_calls(second))
            flooded = measure(elsewhere, second, first, seconds)
            assert not refused.claims()
        finally:
            refused.close()
            elsewhere.close()
    return quiet, flooded


def measure(namespace: Namespace, leader: Controller, other: Controller, seconds: float) -> Figures:
    """Measures `leader`, stops it, and measures `other` when that leads."""
    calls, lines, started = refused_calls(leader), log_lines(leader), time.monotonic()
    waits = []
    for _ in range(SAMPLES):
        waits.append(wait_for_claims(namespace, [injected_pod(generate_name="llama-")]))
        time.sleep(seconds / SAMPLES)
    elapsed = time.monotonic() - started
    calls, lines = refused_calls(leader) - calls, log_lines(leader) - lines
    before = refused_calls(other)
    leader.process.stop()
    waiting = [injected_pod(generate_name="waiting-") for _ in range(WAITING)]
    after_change = wait_for_claims(namespace, waiting, other)
    ahead = refused_calls(other) - before
    return Figures(percentile(waits, 50), max(waits), after_change, ahead, calls / elapsed, lines * 60 / elapsed)


def wait_for_claims(namespace: Namespace, pods: Sequence[JsonObject], leader: Controller | None = None) -> float:
    """Creates the pods and waits for their claims. Seconds since then, or since `leader` leads if that is later."""
    create_all(namespace, pods)
    started = time.monotonic()
    if leader is not None:
        wait_for("another replica leads", lambda: leader.metric("modelfit_leader") == 1, every=0.01)
        started = time.monotonic()
    names = [pod["metadata"]["annotations"]["llmfit.ai/claim"] for pod in pods]
    for name in names:
        claim = namespace.path("ResourceClaim", name)
        wait_for("the pod has its claim", lambda path=claim: namespace.api.find(path), timeout=120, every=0.005)  # type: ignore[misc]
    return time.monotonic() - started


def forbid_claims(namespace: Namespace) -> None:
    """A quota of 0 claims."""
    metadata, hard = {"name": "no-claims"}, {"count/resourceclaims.resource.k8s.io": "0"}
    namespace.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}})
    used = namespace.path("ResourceQuota", "no-claims")
    wait_for("the quota is in effect", lambda: namespace.api.get(used).get("status", {}).get("hard"))


def refused_calls(replica: Controller) -> float:
    return replica.metric("modelfit_api_failures_total", reason="QuotaExceeded")


def log_lines(replica: Controller) -> int:
    lines = replica.process.log.read_text().splitlines()
    return sum("created ResourceClaim" not in line for line in lines)


@contextmanager
def two_replicas(plane: ControlPlane) -> Iterator[tuple[Controller, Controller]]:
    """Two ready replicas; the first is the leader."""
    first, second = controller(plane), controller(plane)
    try:
        first.start()
        wait_for("the first one leads", lambda: first.metric("modelfit_leader") == 1)
        second.start()
        yield first, second
    finally:
        for replica in (first, second):
            replica.process.kill()


def main() -> int:
    """Prints the figures for PODS refused pods. Returns 1 if a requirement does not hold."""
    pods = int(os.environ.get("PODS", "5000"))
    with ControlPlane() as plane:
        quiet, flooded = run(plane, pods, seconds=60)
    print(f"quiet: {quiet}\n{pods} refused pods: {flooded}")
    found = violations(quiet, flooded)
    print("\n".join(["violated:", *found]) if found else "all requirements hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
