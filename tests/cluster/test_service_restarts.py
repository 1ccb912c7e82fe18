"""Two webhooks behind one Service are restarted one after the other, and no admission fails.

The short form has fewer restarts, shorter drains and shorter pauses on keep-alive connections.
"""

from __future__ import annotations

import time

import pytest

from testbed.controllers import LONG_TESTS, running_controller
from testbed.controlplane import ControlPlane
from testbed.namespaces import Namespace
from testbed.review_clients import KeepAliveClients, ReviewClients
from testbed.service import running_webhook_service
from tests.soak.load import PodClients

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

SECONDS, RESTARTS, DRAIN, IDLE = (300, 10, 10, 90) if LONG_TESTS else (20, 4, 3, 2)
"""An API server keeps idle connections for 90 seconds. In the short form each is used once during a drain."""
REVIEWS_PER_SECOND = 30


def test_consecutive_restarts_fail_no_admission(controlplane: ControlPlane, namespace: Namespace) -> None:
    with (
        running_webhook_service(controlplane, environment={"MODELFIT_DRAIN_SECONDS": str(DRAIN)}) as service,
        running_controller(controlplane, environment=service.installation.settings()),
    ):
        service.wait_ready()
        began = time.monotonic()
        with (
            ReviewClients(service.installation, [service.proxy], per_second=REVIEWS_PER_SECOND) as review_clients,
            KeepAliveClients(service.installation, service.endpoints.pick_port, longest=IDLE) as keep_alive_clients,
            PodClients(namespace, per_second=3) as pod_clients,
        ):
            for number in range(RESTARTS):
                next_at = began + SECONDS * number / RESTARTS
                time.sleep(max(0.0, next_at - time.monotonic()))
                assert service.restart(service.replicas[number % 2]) == 0
            time.sleep(max(0.0, began + SECONDS - time.monotonic()))
        assert review_clients.failures + keep_alive_clients.failures == []
        assert (pod_clients.refused, pod_clients.not_injected, pod_clients.without_claim) == ([], 0, [])
        assert review_clients.reviews > REVIEWS_PER_SECOND * SECONDS / 2
        assert pod_clients.admitted > SECONDS
