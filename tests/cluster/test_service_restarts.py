"""Two webhooks behind one address, restarted one after the other: nobody is refused.

The short form is the same with fewer restarts, shorter drains and shorter pauses on kept connections.
"""

from __future__ import annotations

import time

import pytest

from testbed.controllers import LONG_TESTS, running_controller
from testbed.controlplane import ControlPlane
from testbed.namespaces import Namespace
from testbed.review_clients import KeepAliveClients, ReviewClients
from testbed.service import running_webhook_service
from tests.soak.load import Customers

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

SECONDS, RESTARTS, DRAIN, IDLE = (300, 10, 10, 90) if LONG_TESTS else (20, 4, 3, 2)
"""An API server keeps connections for 90 seconds. In the short form each is used once while a webhook drains."""
REVIEWS_PER_SECOND = 30


def test_ten_restarts_one_after_the_other_fail_no_admission(controlplane: ControlPlane, namespace: Namespace) -> None:
    with (
        running_webhook_service(controlplane, environment={"MODELFIT_DRAIN_SECONDS": str(DRAIN)}) as service,
        running_controller(controlplane, environment=service.installation.settings()),
    ):
        service.wait_ready()
        began = time.monotonic()
        with (
            ReviewClients(service.installation, [service.proxy], per_second=REVIEWS_PER_SECOND) as reviewers,
            KeepAliveClients(service.installation, service.endpoints.pick_port, longest=IDLE) as idlers,
            Customers(namespace, per_second=3) as customers,
        ):
            for number in range(RESTARTS):
                next_at = began + SECONDS * number / RESTARTS
                time.sleep(max(0.0, next_at - time.monotonic()))
                assert service.restart(service.replicas[number % 2]) == 0
            time.sleep(max(0.0, began + SECONDS - time.monotonic()))
        assert reviewers.failures + idlers.failures == []
        assert (customers.refused, customers.not_injected, customers.without_claim) == ([], 0, [])
        assert reviewers.reviews > REVIEWS_PER_SECOND * SECONDS / 2
        assert customers.admitted > SECONDS
