"""One run: everything is started, loaded, disturbed, counted and stopped."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cryptography import x509

from tests.cluster.api import ApiError, UnreachableError
from tests.cluster.certified import MOUNTED, Installation
from tests.cluster.controllers import Controller, controller
from tests.cluster.controlplane import ControlPlane
from tests.cluster.drivers import nvidia
from tests.cluster.idlers import Idlers
from tests.cluster.inventory import Inventory
from tests.cluster.namespaces import Namespace
from tests.cluster.processes import Process, ProcessEndedError
from tests.cluster.reviewers import Answered, Reviewers
from tests.cluster.service import Service, served
from tests.soak.disturbances import CONNECTIONS, Disturbances
from tests.soak.load import Customers
from tests.soak.plan import Plan
from tests.soak.record import Lines, Memory, Record

GPUS = 64
CALM_SECONDS = 5.0
"""Of load before the first disturbance and after the last: what memory is compared in."""
AFTERMATH_SECONDS = 2.0
"""In which reviews after an overload still wait for their turn."""


def run(plane: ControlPlane, plan: Plan, say: Callable[[str], None]) -> Record:
    """All of it; `say` is told a line a minute. Raises nothing for what does not hold: see `Record.broken`."""
    record = Record()
    environment = {"MODELFIT_DRAIN_SECONDS": str(plan.drain), "MODELFIT_MAX_CONNECTIONS": str(CONNECTIONS)}
    with hardware(plane) as namespace, served(plane, environment=environment) as service:
        settings = service.installation.settings(**plan.certificates())
        controllers = [controller(plane, environment=settings) for _ in range(2)]
        programs = {
            **{f"webhook {number + 1}": each.process for number, each in enumerate(service.replicas)},
            **{f"controller {number + 1}": each.process for number, each in enumerate(controllers)},
        }
        try:
            for each in controllers:
                each.start()
            service.wait_served()
            watched = programs | {each.name: each for each in plane.processes()}
            _loaded(record, plan, service, controllers, namespace, watched, say)
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
    inventory.install("nvidia")
    inventory.node(*(nvidia.gpu(f"gpu-{number}") for number in range(GPUS)))
    namespace = Namespace(plane.api())
    try:
        yield namespace
    finally:
        namespace.close()
        inventory.clear()


def _loaded(
    record: Record,
    plan: Plan,
    service: Service,
    controllers: list[Controller],
    namespace: Namespace,
    watched: dict[str, Process],
    say: Callable[[str], None],
) -> None:
    began = time.monotonic()
    reviewers = Reviewers(service.installation, [service.relay], per_second=plan.reviews_per_second)
    idlers = Idlers(service.installation, service.endpoints.choose, longest=plan.idle)
    customers = Customers(namespace, per_second=plan.pods_per_second)
    disturbances = Disturbances(service, controllers, plan)
    with reviewers, idlers, customers, Watch(service.installation, watched) as watch:
        time.sleep(CALM_SECONDS)
        watch.begin()
        with disturbances:
            ends = began + plan.seconds - CALM_SECONDS
            minute = began + 60
            while (now := time.monotonic()) < ends:
                time.sleep(max(0.0, min(minute, ends) - now))
                if time.monotonic() >= minute:
                    say(_progress((minute - began) / 60, reviewers, idlers, customers, disturbances, watch))
                    minute += 60
        time.sleep(CALM_SECONDS)
        watch.end()
    record.seconds = time.monotonic() - began
    _sort(record, [*reviewers.answered, *idlers.answered], disturbances.overloads)
    record.failed = reviewers.failures + idlers.failures
    record.admitted, record.refused = customers.admitted, customers.refused
    record.not_injected, record.without_claim = customers.not_injected, customers.without_claim
    record.claims_after, record.claims_left = customers.claims_after, customers.left
    record.restarts, record.kills = disturbances.restarts, disturbances.kills
    record.hostile, record.crowd = disturbances.hostile, disturbances.crowd
    record.overloads = len(disturbances.overloads)
    record.authorities, record.leaves = watch.authorities - 1, watch.leaves - 1
    record.memory = watch.memory
    record.problems += disturbances.problems


class Watch:
    """Looks now and then at how much memory each process has, and at what the Secret holds. A context manager."""

    def __init__(self, installation: Installation, processes: dict[str, Process]) -> None:
        self._installation, self._processes = installation, processes
        self._authorities: set[x509.Certificate] = set()
        self._leaves: set[bytes] = set()
        self.memory: dict[str, Memory] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look_now_and_then, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def authorities(self) -> int:
        """How many there were so far."""
        return len(self._authorities)

    @property
    def leaves(self) -> int:
        """How many certificates there were so far."""
        return len(self._leaves)

    def begin(self) -> None:
        """What a process has now is what it starts with."""
        for name, process in self._processes.items():
            resident = process.memory()
            self.memory[name] = Memory(resident, resident, resident)

    def end(self) -> None:
        """What it has now is what it ends with."""
        for name, memory in self.memory.items():
            memory.end = self._processes[name].memory()
            memory.most = max(memory.most, memory.end)

    def _look_now_and_then(self) -> None:
        while not self._stop.wait(1.0):
            for name, memory in list(self.memory.items()):
                try:
                    memory.most = max(memory.most, self._processes[name].memory())
                except ProcessEndedError:
                    # It is being restarted.
                    continue
            try:
                data = self._installation.data()
            except (ApiError, UnreachableError):
                continue
            self._authorities |= set(x509.load_pem_x509_certificates(data["ca.crt"]))
            self._leaves.add(data[MOUNTED[0]])


def lines(process: Process) -> Lines:
    """Those of its log."""
    counted = Lines()
    for line in process.output().splitlines():
        try:
            is_review = json.loads(line)["msg"] == "review"
        except (ValueError, KeyError, TypeError):
            is_review = False
        counted.reviews += is_review
        counted.others += not is_review
    return counted


def _stop(record: Record, controllers: list[Controller]) -> None:
    for each in controllers:
        code = each.process.stop()
        if code != 0:
            record.problems.append(f"a controller ended with code {code}")


def _sort(record: Record, answered: list[Answered], overloads: list[tuple[float, float]]) -> None:
    """The reviews during an overload apart from the others."""
    for each in answered:
        crowded = any(
            each.at < ended + AFTERMATH_SECONDS and each.at + each.seconds > began for began, ended in overloads
        )
        (record.answered_in_overload if crowded else record.answered).append(each.seconds)


def _progress(
    minutes: float,
    reviewers: Reviewers,
    idlers: Idlers,
    customers: Customers,
    disturbances: Disturbances,
    watch: Watch,
) -> str:
    return (
        f"{minutes:.0f} min: {reviewers.reviews + len(idlers.answered):,} reviews "
        f"({len(reviewers.failures + idlers.failures)} failed), "
        f"{customers.admitted:,} pods ({len(customers.refused)} refused), {disturbances.restarts} restarts, "
        f"{disturbances.kills} kills, {watch.authorities - 1} rotations, "
        f"{disturbances.hostile.total():,} hostile connections, {len(disturbances.overloads)} overloads"
    )
