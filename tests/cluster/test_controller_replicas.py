"""Several replicas: one acts, another takes over, and none acts without the lease."""

from __future__ import annotations

import time
from collections.abc import Iterator

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
    """Two, both ready; the first of them leads."""
    first, second = controller(controlplane), controller(controlplane)
    try:
        first.start()
        wait_for("the first one leads", lambda: leads(first))
        second.start()
        yield first, second
    finally:
        first.process.stop()
        second.process.stop()


def leads(replica: Controller) -> bool:
    return replica.metric("modelfit_leader") == 1


def created(replica: Controller) -> float:
    return replica.metric("modelfit_reconcile_total", result="ClaimCreated")


def holder(plane: ControlPlane) -> str:
    return str(plane.api().get(path("Lease", NAMESPACE, LEASE))["spec"]["holderIdentity"])


def test_of_two_replicas_one_acts_and_both_are_ready(
    replicas: tuple[Controller, Controller], namespace: Namespace
) -> None:
    first, second = replicas
    create_all(namespace, [injected_pod(f"llama-{number}") for number in range(20)])
    wait_each_pod_has_its_claim(namespace)
    assert (created(first), created(second)) == (20, 0)
    assert not leads(second)
    assert first.get("/readyz")[0] == second.get("/readyz")[0] == 200


def test_when_the_leader_is_killed_the_other_one_goes_on(
    replicas: tuple[Controller, Controller], namespace: Namespace
) -> None:
    first, second = replicas
    namespace.create(injected_pod("before"))
    wait_each_pod_has_its_claim(namespace)
    first.process.kill()
    namespace.create(injected_pod("after"))
    assert len(wait_each_pod_has_its_claim(namespace, timeout=FAILOVER_SECONDS)) == 2
    assert leads(second)


def test_a_leader_that_stops_hands_over_at_once(
    controlplane: ControlPlane, replicas: tuple[Controller, Controller], namespace: Namespace
) -> None:
    first, second = replicas
    before = holder(controlplane)
    assert first.process.stop() == 0
    namespace.create(injected_pod("after"))
    # Well within the 12 seconds after which a lease runs out.
    wait_each_pod_has_its_claim(namespace, timeout=8)
    assert holder(controlplane) not in ("", before)
    assert leads(second)


def test_a_leader_that_cannot_renew_its_lease_stops_acting_before_another_one_begins(
    controlplane: ControlPlane, namespace: Namespace
) -> None:
    with (
        TCPProxy(int(controlplane.server.rpartition(":")[2])) as proxy,
        running_controller(controlplane, server=proxy.url) as cut_off,
        running_controller(controlplane) as other,
    ):
        wait_for("the one behind the proxy leads", lambda: leads(cut_off))
        proxy.freeze()

        def both() -> bool:
            # The first one first: in between it can only lose the lease.
            return leads(cut_off) and leads(other)

        deadline = time.monotonic() + FAILOVER_SECONDS
        while not leads(other) and time.monotonic() < deadline:
            assert not both()
            time.sleep(0.1)
        assert leads(other)
        assert not leads(cut_off)
        # It comes back as one that waits.
        proxy.thaw()
        proxy.close_connections()
        consistently("never do both lead", both, lambda seen: not seen, seconds=5)


def test_a_replica_that_waits_reports_no_queue(replicas: tuple[Controller, Controller], namespace: Namespace) -> None:
    create_all(namespace, [injected_pod(f"llama-{number}") for number in range(20)])
    wait_each_pod_has_its_claim(namespace)
    assert [replica.metric("modelfit_queue_depth") for replica in replicas] == [0, 0]


def test_it_ends_within_two_seconds_of_being_asked(controlplane: ControlPlane, namespace: Namespace) -> None:
    """Kubernetes gives it 30; whoever waits for a rollout is grateful for less. Also in the middle of its work, and
    with an API server that does not answer."""
    ours = controller(controlplane)
    ours.start()
    create_all(namespace, [injected_pod(f"llama-{number}") for number in range(20)])
    assert ends_quickly(ours) == 0
    with TCPProxy(int(controlplane.server.rpartition(":")[2])) as proxy:
        ours = controller(controlplane, server=proxy.url)
        ours.start()
        proxy.freeze()
        namespace.create(injected_pod("unseen"))
        assert ends_quickly(ours) == 0
    with running_controller(controlplane):
        assert len(wait_each_pod_has_its_claim(namespace)) == 21


def ends_quickly(ours: Controller) -> int:
    # With SIGKILL after so many seconds, and then a negative exit code.
    return ours.process.stop(grace=4)


def test_it_ends_well_on_sigint_while_it_cannot_reach_anything(controlplane: ControlPlane) -> None:
    ours = controller(controlplane, server="https://127.0.0.1:1")
    ours.process.start()
    ours.process.wait_url(f"{ours.url}/healthz")
    status, text = ours.get("/readyz")
    assert status == 503
    assert "are not known yet" in text
    assert ends_quickly(ours) == 0
