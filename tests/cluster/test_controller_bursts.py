"""Many pods at once. With LONG_TESTS the numbers are those that are promised, on an otherwise idle machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.claims import against_bare_loop, against_templates, measured_plane, wait_for_claims
from testbed.controllers import LONG_TESTS, NO_LEADER_ELECTION, Controller, running_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import create_all, injected_pod
from testbed.namespaces import Namespace
from testbed.servers import Options
from testbed.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

MIB = 1 << 20
CROWD = 10_000
MEMORY = 200 * MIB


def test_claims_are_created_many_times_faster_than_from_templates() -> None:
    """kube-controller-manager is limited by its client's rate limit, not by the machine: on a busy one, only modelfit
    is slower."""
    pods, min_ratio = (1000, 10) if LONG_TESTS else (150, 2)
    with measured_plane() as (plane, ours):
        assert against_templates(plane, ours, pods) >= min_ratio


def test_claims_are_created_nearly_as_fast_as_by_the_bare_client() -> None:
    pods, rounds, min_ratio = (1000, 3, 0.7) if LONG_TESTS else (200, 1, 0.4)
    with measured_plane() as (plane, ours):
        assert against_bare_loop(plane, ours, pods, rounds) >= min_ratio


def test_ten_thousand_injected_pods_fit_into_200_mib(make_controlplane: Callable[[Options], ControlPlane]) -> None:
    """While they are created, and after a restart. The short form extrapolates from fewer pods."""
    pods = CROWD if LONG_TESTS else 1000
    # A control plane of its own, because deleting so many pods takes longer than the test.
    plane = make_controlplane(Options())
    namespace = Namespace(plane.api())
    with running_controller(plane, environment=NO_LEADER_ELECTION) as ours:
        idle = peak(ours)
        create_all(namespace, [injected_pod(generate_name="llama-") for _ in range(pods)])
        wait_for_claims(namespace, pods)
        growing = peak(ours)
    with running_controller(plane, environment=NO_LEADER_ELECTION) as ours:
        wait_for(
            "all pods are reconciled", lambda: ours.metric("modelfit_reconcile_total", result="ClaimPresent") >= pods
        )
        starting = peak(ours)
    for used in (growing, starting):
        assert idle + (used - idle) * CROWD / pods < MEMORY, (
            f"{idle / MIB:.0f} MiB idle, {used / MIB:.0f} MiB with {pods}"
        )


def peak(ours: Controller) -> int:
    """The peak resident memory in bytes."""
    status = Path(f"/proc/{ours.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024
