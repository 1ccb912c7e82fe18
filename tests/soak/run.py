"""One run: starts everything, puts it under load, disturbs it, counts and stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from testbed.controllers import Controller, controller
from testbed.controlplane import ControlPlane
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.review_clients import KeepAliveClients, ReviewClients
from testbed.service import Service, running_webhook_service
from testbed.waiting import WaitTimeoutError, wait_for
from tests.soak.disturbances import CONNECTIONS, Disturbances
from tests.soak.load import PodClients
from tests.soak.monitor import Monitor, lines
from tests.soak.plan import Plan
from tests.soak.result import SoakResult
from tests.soak.table import line
from tests.vendors import nvidia

GPUS = 64
CALM_SECONDS = 5.0
"""Load without disturbances at the start and the end; the memory of the two is compared."""
ROTATION_SECONDS = 60.0

Report = Callable[[str], None]


def run(plane: ControlPlane, plan: Plan, report: Report) -> SoakResult:
    """Runs the plan and passes a progress line per minute to `report`. See `SoakResult.violations` for what failed."""
    environment = {"MODELFIT_DRAIN_SECONDS": str(plan.drain), "MODELFIT_MAX_CONNECTIONS": str(CONNECTIONS)}
    with hardware(plane) as namespace, running_webhook_service(plane, environment=environment) as service:
        settings = service.installation.settings(**plan.certificates())
        controllers = [controller(plane, environment=settings) for _ in range(2)]
        programs = {
            **{f"webhook {number + 1}": each.process for number, each in enumerate(service.replicas)},
            **{f"controller {number + 1}": each.process for number, each in enumerate(controllers)},
        }
        try:
            for each in controllers:
                each.start()
            service.wait_ready()
            monitor = Monitor(service.installation, programs | {each.name: each for each in plane.processes()})
            result = _load(plan, service, controllers, namespace, monitor, report)
            _stop(result, controllers)
        finally:
            for each in controllers:
                each.process.kill()
    result.lines = {name: lines(each) for name, each in programs.items()}
    return result


@contextmanager
def hardware(plane: ControlPlane) -> Iterator[Namespace]:
    """Publishes GPUs and yields a namespace."""
    inventory = Inventory(plane.api())
    inventory.install(*nvidia.CLASSES)
    inventory.node(*(nvidia.gpu(f"gpu-{number}") for number in range(GPUS)))
    namespace = Namespace(plane.api())
    try:
        yield namespace
    finally:
        namespace.close()
        inventory.clear()


def _load(
    plan: Plan, service: Service, controllers: list[Controller], namespace: Namespace, monitor: Monitor, report: Report
) -> SoakResult:
    """Load and disturbances at once, for the duration of the plan."""
    review_clients = ReviewClients(service.installation, [service.proxy], per_second=plan.reviews_per_second)
    keep_alive_clients = KeepAliveClients(service.installation, service.endpoints.pick_port, longest=plan.idle)
    pod_clients = PodClients(namespace, per_second=plan.pods_per_second)
    disturbances = Disturbances(service, controllers, plan)
    result = SoakResult()

    def count() -> None:
        result.seconds = time.monotonic() - began
        result.sort([*review_clients.answered, *keep_alive_clients.answered], disturbances.overloads)
        result.failed = review_clients.failures + keep_alive_clients.failures
        result.admitted, result.refused = pod_clients.admitted, pod_clients.refused
        result.not_injected, result.without_claim = pod_clients.not_injected, pod_clients.without_claim
        result.claims_after, result.claims_left = pod_clients.claims_after, pod_clients.left
        result.restarts, result.kills = disturbances.restarts, disturbances.kills
        result.hostile, result.crowd = disturbances.hostile, disturbances.crowd
        result.overloads = len(disturbances.overloads)
        result.cas, result.leaves = monitor.replaced
        result.memory, result.problems = monitor.memory, disturbances.problems

    began = time.monotonic()
    with review_clients, keep_alive_clients, pod_clients, monitor:
        time.sleep(CALM_SECONDS)
        monitor.begin()
        with disturbances:
            ends = began + plan.seconds - CALM_SECONDS
            minute = began + 60
            while (now := time.monotonic()) < ends:
                time.sleep(max(0.0, min(minute, ends) - now))
                if time.monotonic() >= minute:
                    count()
                    report(line(result))
                    minute += 60
        with suppress(WaitTimeoutError):
            # A rotation may have to wait for another leader. If that takes too long, the result has too few rotations.
            wait_for("rotations are over", lambda: monitor.replaced[0] >= plan.rotations, timeout=ROTATION_SECONDS)
        time.sleep(CALM_SECONDS)
        monitor.end()
    count()
    return result


def _stop(result: SoakResult, controllers: list[Controller]) -> None:
    for each in controllers:
        code = each.process.stop()
        if code != 0:
            result.problems.append(f"a controller exited with code {code}")
