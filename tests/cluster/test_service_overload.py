"""After more connections than it accepts the webhook recovers, with the same workers and no more memory."""

from __future__ import annotations

import pytest

from testbed.api import ApiError
from testbed.background import BackgroundThreads
from testbed.controllers import LONG_TESTS, running_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.review_clients import ReviewClients
from testbed.service import running_webhook_service, worker_pids
from testbed.waiting import wait_for
from tests.soak import hostile_peers
from tests.soak.result import GROWTH, SPARE

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

CONNECTIONS = 64
CROWD = 6 * CONNECTIONS
SECONDS, ROUNDS = (20, 4) if LONG_TESTS else (3, 2)
NORMAL = 50
PLATEAU = 8 << 20
"""Bytes. The first overload allocates memory for its connections, and the next ones reuse it."""


def test_after_an_overload_the_workers_and_the_memory_are_the_same(
    controlplane: ControlPlane, namespace: Namespace
) -> None:
    with (
        running_webhook_service(
            controlplane, replicas=1, environment={"MODELFIT_MAX_CONNECTIONS": str(CONNECTIONS)}
        ) as service,
        running_controller(controlplane, environment=service.installation.settings()),
    ):
        service.wait_ready()
        (replica,) = service.replicas
        with ReviewClients(service.installation, [service.proxy], per_second=50) as review_clients:
            wait_for("the webhook is warmed up", lambda: review_clients.reviews >= NORMAL)
        before, memory = worker_pids(replica), [replica.process.memory()]
        for _ in range(ROUNDS):
            with DryRunLoad(namespace):
                counts = hostile_peers.in_own_process(hostile_peers.crowd, replica.port, CROWD, SECONDS, CROWD)
            # On average each client was answered, however long this machine takes for it.
            assert counts["answered"] > CROWD, counts
            memory.append(replica.process.memory())
        for _ in range(NORMAL):
            namespace.create(pod(generate_name="after-", annotations=ANNOTATED), dryRun="All")
        with ReviewClients(service.installation, [service.proxy], per_second=50) as review_clients:
            wait_for("reviews are answered", lambda: review_clients.reviews >= NORMAL)
        assert review_clients.failures == []
        assert worker_pids(replica) == before
        assert memory[-1] < memory[0] * GROWTH + SPARE, memory
        assert memory[-1] - memory[1] < PLATEAU, memory


class DryRunLoad(BackgroundThreads):
    """Creates annotated pods in dry runs at the same time; the webhook may deny them."""

    def __init__(self, namespace: Namespace, *, clients: int = 16) -> None:
        self._namespace = namespace
        super().__init__([self._create] * clients)

    def _create(self) -> None:
        while not self._stop.is_set():
            try:
                self._namespace.create(pod(generate_name="push-", annotations=ANNOTATED), dryRun="All")
            except ApiError as refusal:
                assert "modelfit.llmfit.ai" in refusal.message  # noqa: PT017
