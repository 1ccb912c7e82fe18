"""Several controllers: at once on an empty cluster, one after the other, and with or without an election."""

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


@pytest.mark.parametrize("election", [True, False], ids=["with an election", "without one"])
def test_three_controllers_and_three_webhooks_at_once_agree_on_one_authority(
    controlplane: ControlPlane, election: bool
) -> None:
    for _ in range(ROUNDS):
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
            for replica in replicas:
                wait_for("the webhook serves it", lambda: served(replica, data["ca.crt"]), lambda seen: seen == leaf)  # noqa: B023
            for each in controllers:
                each.process.wait_url(f"{each.url}/readyz")
            # Two looks later, and with whatever the losers of the race still had in mind.
            consistently("one Secret, one authority", installation.data, lambda seen: seen == data, seconds=4.5)  # noqa: B023
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
    """What clients that trust the bundle are shown; None while nobody answers."""
    try:
        return x509.load_der_x509_certificate(replica.served(bundle))
    except OSError:
        return None


def test_a_fourth_one_later_changes_nothing(controlplane: ControlPlane) -> None:
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


def test_when_the_leader_is_killed_another_one_goes_on(controlplane: ControlPlane) -> None:
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
            # The lease of the dead one has to run out.
            wait_for("it is healed", installation.in_place, timeout=30)
            assert installation.data() == before
            assert second.metric("modelfit_certificate_changes_total") == 0
        finally:
            first.process.kill()
            assert second.process.stop() == 0


def test_who_does_not_lead_touches_nothing_and_sees_what_is_wrong(controlplane: ControlPlane) -> None:
    with (
        Installation(controlplane) as installation,
        Installation(controlplane) as other,
        # The leader looks after another certificate, so that nobody is there for this one.
        running_controller(controlplane, environment=other.settings()) as leader,
    ):
        wait_for("it leads", lambda: leader.metric("modelfit_leader") == 1)
        waiting = controller(controlplane, environment=installation.settings())
        try:
            waiting.process.start()
            waiting.process.wait_url(f"{waiting.url}/healthz")
            found = "the webhook's certificate: private key: it is empty"
            wait_for("it sees what is wrong", lambda: waiting.get("/readyz"), lambda seen: found in seen[1])
            consistently("it is not ready", lambda: waiting.get("/readyz")[0], lambda status: status == 503, seconds=4)
            assert installation.data() == {}
            assert not any(installation.bundles().values())
        finally:
            assert waiting.process.stop() == 0
