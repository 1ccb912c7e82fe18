"""Several controllers: concurrent, one after the other, with and without leader election."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest
from cryptography import x509

from testbed.certified import OURS, Installation, Replica
from testbed.controllers import LONG_TESTS, NO_LEADER_ELECTION, controller, running_controller
from testbed.controlplane import ControlPlane
from testbed.processes import Process
from testbed.waiting import consistently, wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

ROUNDS = 20 if LONG_TESTS else 3


@pytest.mark.parametrize("attempt", range(ROUNDS))
@pytest.mark.parametrize("election", [True, False], ids=["leader election", "no leader election"])
def test_three_controllers_and_three_webhooks_at_once_agree_on_one_ca(
    controlplane: ControlPlane, election: bool, attempt: int
) -> None:
    with ExitStack() as stack:
        installation = stack.enter_context(Installation(controlplane))
        environment = {**installation.settings(), **({} if election else NO_LEADER_ELECTION)}
        controllers = [controller(controlplane, environment=environment) for _ in range(3)]
        for each in controllers:
            stack.callback(each.process.stop)
        replicas = [stack.enter_context(Replica(installation)) for _ in range(3)]
        start_together([each.process for each in controllers])
        wait_for("the certificate is in place", installation.in_place)
        data = installation.data()
        assert len(x509.load_pem_x509_certificates(data["ca.crt"])) == 1
        leaf = x509.load_pem_x509_certificate(data["tls.crt"])
        wait_for("the webhooks serve it", lambda: {served(each, data["ca.crt"]) for each in replicas} == {leaf})
        for each in controllers:
            each.process.wait_url(f"{each.url}/readyz")
        # For two resyncs.
        consistently("one Secret, one CA", installation.data, lambda current: current == data, seconds=4.5)
        assert installation.in_place()
        assert sum(each.metric("modelfit_certificate_changes_total") for each in controllers) == 1
        assert [each.process.stop() for each in controllers] == [0, 0, 0]


def start_together(processes: list[Process]) -> None:
    threads = [threading.Thread(target=process.start) for process in processes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def served(replica: Replica, bundle: bytes) -> x509.Certificate | None:
    """The leaf that a client receives that trusts the bundle; None if it cannot connect."""
    try:
        return x509.load_der_x509_certificate(replica.served(bundle))
    except OSError:
        return None


def test_a_controller_that_starts_later_changes_nothing(controlplane: ControlPlane) -> None:
    with Installation(controlplane) as installation:
        versions = []
        for _ in range(2):
            ours = controller(controlplane, environment={**installation.settings(), **NO_LEADER_ELECTION})
            ours.start()
            try:
                consistently("it is in place", installation.in_place, seconds=2.5)
                versions.append(installation.secret()["metadata"]["resourceVersion"])
            finally:
                assert ours.process.stop() == 0
        assert len({*versions}) == 1


def test_when_the_leader_is_killed_another_controller_takes_over(controlplane: ControlPlane) -> None:
    with Installation(controlplane) as installation:
        first, second = (controller(controlplane, environment=installation.settings()) for _ in range(2))
        try:
            first.start()
            wait_for("the first one leads", lambda: first.metric("modelfit_leader") == 1)
            second.start()
            before = installation.data()
            first.process.kill()
            for kind in OURS:
                installation.write_bundle(kind, b"")
            # The lease of the killed one expires first.
            wait_for("the caBundles are restored", installation.in_place, timeout=30)
            assert installation.data() == before
            assert second.metric("modelfit_certificate_changes_total") == 0
        finally:
            first.process.kill()
            assert second.process.stop() == 0


def test_a_non_leader_writes_nothing_and_reports_problems(controlplane: ControlPlane) -> None:
    with (
        Installation(controlplane) as installation,
        Installation(controlplane) as other,
        # The leader reconciles another certificate, so that this one has no leader.
        running_controller(controlplane, environment=other.settings()) as leader,
    ):
        wait_for("it leads", lambda: leader.metric("modelfit_leader") == 1)
        waiting = controller(controlplane, environment=installation.settings())
        try:
            waiting.process.start()
            waiting.process.wait_url(f"{waiting.url}/healthz")
            problem = "the webhook's certificate: private key: it is empty"
            wait_for("it reports the problem", lambda: waiting.get("/readyz"), lambda answer: problem in answer[1])
            consistently("it is not ready", lambda: waiting.get("/readyz")[0], lambda status: status == 503, seconds=4)
            assert installation.data() == {}
            assert not any(installation.bundles().values())
        finally:
            assert waiting.process.stop() == 0
