"""One run: everything is started, loaded, disturbed, counted and stopped."""

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
from tests.soak.load import Customers
from tests.soak.plan import Plan
from tests.soak.record import Record
from tests.soak.table import line
from tests.soak.watch import Watch, lines
from tests.vendors import nvidia

GPUS = 64
CALM_SECONDS = 5.0
"""Of load before the first disturbance and after the last: what memory is compared in."""
ROTATION_SECONDS = 60.0

Say = Callable[[str], None]


def run(plane: ControlPlane, plan: Plan, say: Say) -> Record:
    """All of it; `say` is told a line a minute. Raises nothing for what does not hold: see `Record.broken`."""
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
            watch = Watch(service.installation, programs | {each.name: each for each in plane.processes()})
            record = _load(plan, service, controllers, namespace, watch, say)
            _stop(record, controllers)
        finally:
            for each in controllers:
                each.process.kill()
    record.lines = {name: lines(each) for name, each in programs.items()}
    return record


@contextmanager
def hardware(plane: ControlPlane) -> Iterator[Namespace]:
    """GPUs, and a namespace whose pods may have them."""
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
    plan: Plan, service: Service, controllers: list[Controller], namespace: Namespace, watch: Watch, say: Say
) -> Record:
    """Everything at once, for the time of the plan."""
    reviewers = ReviewClients(service.installation, [service.proxy], per_second=plan.reviews_per_second)
    idlers = KeepAliveClients(service.installation, service.endpoints.pick_port, longest=plan.idle)
    customers = Customers(namespace, per_second=plan.pods_per_second)
    disturbances = Disturbances(service, controllers, plan)
    record = Record()

    def count() -> None:
        record.seconds = time.monotonic() - began
        record.sort([*reviewers.answered, *idlers.answered], disturbances.overloads)
        record.failed = reviewers.failures + idlers.failures
        record.admitted, record.refused = customers.admitted, customers.refused
        record.not_injected, record.without_claim = customers.not_injected, customers.without_claim
        record.claims_after, record.claims_left = customers.claims_after, customers.left
        record.restarts, record.kills = disturbances.restarts, disturbances.kills
        record.hostile, record.crowd = disturbances.hostile, disturbances.crowd
        record.overloads = len(disturbances.overloads)
        record.authorities, record.leaves = watch.replaced
        record.memory, record.problems = watch.memory, disturbances.problems

    began = time.monotonic()
    with reviewers, idlers, customers, watch:
        time.sleep(CALM_SECONDS)
        watch.begin()
        with disturbances:
            ends = began + plan.seconds - CALM_SECONDS
            minute = began + 60
            while (now := time.monotonic()) < ends:
                time.sleep(max(0.0, min(minute, ends) - now))
                if time.monotonic() >= minute:
                    count()
                    say(line(record))
                    minute += 60
        with suppress(WaitTimeoutError):
            # One that waits for another controller to lead gets its time; if that is too little, the record tells.
            wait_for("rotations are over", lambda: watch.replaced[0] >= plan.rotations, timeout=ROTATION_SECONDS)
        time.sleep(CALM_SECONDS)
        watch.end()
    count()
    return record


def _stop(record: Record, controllers: list[Controller]) -> None:
    for each in controllers:
        code = each.process.stop()
        if code != 0:
            record.problems.append(f"a controller ended with code {code}")
