"""Bursts and crowds. With LONG_TESTS set they have the size that is promised, on a machine that does nothing else."""

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


def test_claims_of_a_burst_come_many_times_faster_than_from_templates() -> None:
    """kube-controller-manager is held back by its own client's limit, not by the machine: on one that is busy, only we
    are slower."""
    pods, times = (1000, 10) if LONG_TESTS else (150, 2)
    with measured_plane() as (plane, ours):
        assert against_templates(plane, ours, pods) >= times


def test_claims_come_nearly_as_fast_as_the_client_can_create_them() -> None:
    pods, rounds, part = (1000, 3, 0.7) if LONG_TESTS else (200, 1, 0.4)
    with measured_plane() as (plane, ours):
        assert against_bare_loop(plane, ours, pods, rounds) >= part


def test_ten_thousand_injected_pods_fit_into_200_mb(make_controlplane: Callable[[Options], ControlPlane]) -> None:
    """While they come, and for a controller that starts and finds them all. The short form asks the same of each pod
    of a smaller crowd."""
    pods = CROWD if LONG_TESTS else 1000
    # Its own, which goes away as a whole: to delete so many one by one takes longer than the test.
    plane = make_controlplane(Options())
    namespace = Namespace(plane.api())
    with running_controller(plane, environment=NO_LEADER_ELECTION) as ours:
        idle = peak(ours)
        create_all(namespace, [injected_pod(generate_name="llama-") for _ in range(pods)])
        wait_for_claims(namespace, pods)
        growing = peak(ours)
    with running_controller(plane, environment=NO_LEADER_ELECTION) as ours:
        wait_for("it has looked at all", lambda: ours.metric("modelfit_reconcile_total", result="ClaimPresent") >= pods)
        starting = peak(ours)
    for most in (growing, starting):
        assert idle + (most - idle) * CROWD / pods < MEMORY, (
            f"{idle / MIB:.0f} MiB idle, {most / MIB:.0f} MiB with {pods}"
        )


def peak(ours: Controller) -> int:
    """The most memory that was resident so far, in bytes."""
    status = Path(f"/proc/{ours.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024
