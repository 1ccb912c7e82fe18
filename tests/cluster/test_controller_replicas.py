"""Several replicas: one is the leader, another takes over, and none writes without the lease."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from testbed.controllers import LEASE, NAMESPACE, Controller, controller, running_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import create_all, injected_pod, wait_each_pod_has_its_claim
from testbed.namespaces import Namespace
from testbed.paths import path
from testbed.tcp_proxy import TCPProxy
from testbed.waiting import consistently, wait_for

pytestmark = pytest.mark.cluster

FAILOVER_SECONDS = 20


@pytest.fixture
def replicas(controlplane: ControlPlane) -> Iterator[tuple[Controller, Controller]]:
    """Two ready replicas; the first is the leader."""
    first, second = controller(controlplane), controller(controlplane)
    try:
        first.start()
        wait_for("the first one is the leader", lambda: is_leader(first))
        second.start()
        yield first, second
    finally:
        first.process.stop()
        second.process.stop()


def is_leader(replica: Controller) -> bool:
    return replica.metric("modelfit_leader") == 1


def created(replica: Controller) -> float:
    return replica.metric("modelfit_reconcile_total", result="ClaimCreated")


def holder(plane: ControlPlane) -> str:
    return str(plane.api().get(path("Lease", NAMESPACE, LEASE))["spec"]["holderIdentity"])


def test_one_of_two_replicas_creates_claims_and_both_are_ready(
    replicas: tuple[Controller, Controller], namespace: Namespace
) -> None:
    first, second = replicas
    create_all(namespace, [injected_pod(f"llama-{number}") for number in range(20)])
    wait_each_pod_has_its_claim(namespace)
    assert (created(first), created(second)) == (20, 0)
    assert not is_leader(second)
    assert first.get("/readyz")[0] == second.get("/readyz")[0] == 200


def test_the_other_replica_takes_over_when_the_leader_is_killed(
    replicas: tuple[Controller, Controller], namespace: Namespace
) -> None:
    first, second = replicas
    namespace.create(injected_pod("before"))
    wait_each_pod_has_its_claim(namespace)
    first.process.kill()
    namespace.create(injected_pod("after"))
    assert len(wait_each_pod_has_its_claim(namespace, timeout=FAILOVER_SECONDS)) == 2
    assert is_leader(second)


def test_a_leader_that_stops_releases_the_lease_at_once(
    controlplane: ControlPlane, replicas: tuple[Controller, Controller], namespace: Namespace
) -> None:
    first, second = replicas
    before = holder(controlplane)
    assert first.process.stop() == 0
    namespace.create(injected_pod("after"))
    # Less than the 12 seconds after which a lease expires.
    wait_each_pod_has_its_claim(namespace, timeout=8)
    assert holder(controlplane) not in ("", before)
    assert is_leader(second)


def test_a_leader_that_cannot_renew_its_lease_stops_before_another_one_starts(
    controlplane: ControlPlane, namespace: Namespace
) -> None:
    with (
        TCPProxy(int(controlplane.server.rpartition(":")[2])) as proxy,
        running_controller(controlplane, server=proxy.url) as cut_off,
        running_controller(controlplane) as other,
    ):
        wait_for("the one behind the proxy leads", lambda: is_leader(cut_off))
        proxy.freeze()

        def both_lead() -> bool:
            # Read in this order: in between, the first replica can only lose the lease.
            return is_leader(cut_off) and is_leader(other)

        deadline = time.monotonic() + FAILOVER_SECONDS
        while not is_leader(other) and time.monotonic() < deadline:
            assert not both_lead()
            time.sleep(0.1)
        assert is_leader(other)
        assert not is_leader(cut_off)
        # The first replica returns as a non-leader.
        proxy.thaw()
        proxy.close_connections()
        consistently("never do both lead", both_lead, lambda seen: not seen, seconds=5)


def test_a_non_leader_reports_an_empty_queue(replicas: tuple[Controller, Controller], namespace: Namespace) -> None:
    create_all(namespace, [injected_pod(f"llama-{number}") for number in range(20)])
    wait_each_pod_has_its_claim(namespace)
    assert [replica.metric("modelfit_queue_depth") for replica in replicas] == [0, 0]


def test_the_controller_stops_within_two_seconds(controlplane: ControlPlane, namespace: Namespace) -> None:
    """Kubernetes grants 30 seconds, but a rollout waits for it. Also while it works, and while the API server does not
    respond."""
    ours = controller(controlplane)
    ours.start()
    create_all(namespace, [injected_pod(f"llama-{number}") for number in range(20)])
    assert stop_quickly(ours) == 0
    with TCPProxy(int(controlplane.server.rpartition(":")[2])) as proxy:
        ours = controller(controlplane, server=proxy.url)
        ours.start()
        proxy.freeze()
        namespace.create(injected_pod("unseen"))
        assert stop_quickly(ours) == 0
    with running_controller(controlplane):
        assert len(wait_each_pod_has_its_claim(namespace)) == 21


def stop_quickly(ours: Controller) -> int:
    # SIGKILL after `grace` seconds gives a negative exit code.
    return ours.process.stop(grace=4)


def test_the_controller_stops_cleanly_while_the_api_server_is_unreachable(controlplane: ControlPlane) -> None:
    ours = controller(controlplane, server="https://127.0.0.1:1")
    ours.process.start()
    ours.process.wait_url(f"{ours.url}/healthz")
    status, text = ours.get("/readyz")
    assert status == 503
    assert "are not known yet" in text
    assert stop_quickly(ours) == 0


def test_times_in_the_lease_that_are_an_hour_off_change_nothing(
    controlplane: ControlPlane, replicas: tuple[Controller, Controller]
) -> None:
    """As if the leader's clock were wrong, or were set before it died: only how long the record has not changed
    counts."""
    first, second = replicas
    lease = path("Lease", NAMESPACE, LEASE)

    def set_renew_time(hours: int) -> None:
        time_off = datetime.now(UTC) + timedelta(hours=hours)
        patch = {"spec": {"renewTime": time_off.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}}
        controlplane.api().patch(lease, patch)

    for hours in (-1, 1):
        set_renew_time(hours)
        consistently("the first one leads", lambda: is_leader(first) and not is_leader(second), bool, seconds=3)
    first.process.kill()
    set_renew_time(1)
    wait_for("the second one leads", lambda: is_leader(second), timeout=FAILOVER_SECONDS)


def test_a_leader_stops_when_another_holder_is_in_the_lease(
    controlplane: ControlPlane, replicas: tuple[Controller, Controller]
) -> None:
    first, second = replicas
    patch = {"spec": {"holderIdentity": "a replica that does not run", "leaseDurationSeconds": 12}}
    controlplane.api().patch(path("Lease", NAMESPACE, LEASE), patch)
    # Less than the eight seconds for which a renewal counts, which began before the patch.
    wait_for("the first one does not lead", lambda: not is_leader(first), timeout=4)
    wait_for("one of the two takes over", lambda: is_leader(first) or is_leader(second), timeout=FAILOVER_SECONDS)
