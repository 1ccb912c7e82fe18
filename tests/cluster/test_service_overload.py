"""More than the webhook lets in, and then normal: it recovers, with the workers and the memory that it had."""

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
from tests.soak import peers
from tests.soak.record import GROWTH, SPARE

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

CONNECTIONS = 64
CROWD = 6 * CONNECTIONS
SECONDS, ROUNDS = (20, 4) if LONG_TESTS else (3, 2)
NORMAL = 50
PLATEAU = 8 << 20
"""Bytes. The first overload makes room for its connections, and the next ones use it."""


def test_after_an_overload_all_is_as_it_was(controlplane: ControlPlane, namespace: Namespace) -> None:
    with (
        running_webhook_service(
            controlplane, replicas=1, environment={"MODELFIT_MAX_CONNECTIONS": str(CONNECTIONS)}
        ) as service,
        running_controller(controlplane, environment=service.installation.settings()),
    ):
        service.wait_ready()
        (replica,) = service.replicas
        with ReviewClients(service.installation, [service.proxy], per_second=50) as reviewers:
            wait_for("it is warm", lambda: reviewers.reviews >= NORMAL)
        before, memory = worker_pids(replica), [replica.process.memory()]
        for _ in range(ROUNDS):
            with Pushing(namespace):
                counts = peers.apart(peers.crowd, replica.port, CROWD, SECONDS)
            # Each of the crowd got its turn: it was not a few that were served all the time.
            assert counts["answered"] > CROWD, counts
            memory.append(replica.process.memory())
        for _ in range(NORMAL):
            namespace.create(pod(generate_name="after-", annotations=ANNOTATED), dryRun="All")
        with ReviewClients(service.installation, [service.proxy], per_second=50) as reviewers:
            wait_for("reviews are answered", lambda: reviewers.reviews >= NORMAL)
        assert reviewers.failures == []
        assert worker_pids(replica) == before
        assert memory[-1] < memory[0] * GROWTH + SPARE, memory
        assert memory[-1] - memory[1] < PLATEAU, memory


class Pushing(BackgroundThreads):
    """People who create annotated pods meanwhile, in dry runs, and may be refused."""

    def __init__(self, namespace: Namespace, *, people: int = 16) -> None:
        self._namespace = namespace
        super().__init__([self._create] * people)

    def _create(self) -> None:
        while not self._stop.is_set():
            try:
                self._namespace.create(pod(generate_name="push-", annotations=ANNOTATED), dryRun="All")
            except ApiError as refusal:
                assert "modelfit.llmfit.ai" in refusal.message  # noqa: PT017
