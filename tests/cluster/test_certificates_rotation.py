"""CA and leaf rotate during reviews: no client ever receives a leaf that its caBundle does not trust."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from cryptography import x509

from testbed.certified import Installation, Replica
from testbed.controllers import LONG_TESTS, controller, running_controller
from testbed.controlplane import ControlPlane
from testbed.review_clients import ReviewClients
from testbed.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]

DAY = 86400
PROPAGATION = 8
"""Seconds. The slower of the two mounts takes four, and the machine may be busy."""
SLOW_MOUNT = 4.0

SHORT = {
    "caLifetimeDays": 18 * PROPAGATION / DAY,
    "leafLifetimeDays": 6 * PROPAGATION / DAY,
    "propagationMinutes": PROPAGATION / 60,
}
"""The minimum for that propagation: a CA lives two and a half minutes, a leaf 48 seconds."""

ROTATIONS = 10 if LONG_TESTS else 2


def load_cas(bundle: bytes) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(bundle)


def test_cas_and_leaves_rotate_unattended_and_no_review_fails(controlplane: ControlPlane) -> None:
    with (
        Installation(controlplane) as installation,
        running_controller(controlplane, environment=installation.settings(**SHORT)) as ours,
        Replica(installation) as quick,
        Replica(installation, sync_seconds=SLOW_MOUNT) as slow,
    ):
        for each in (quick, slow):
            wait_for("it serves", trusted(each, installation), timeout=60)
        with ReviewClients(installation, [quick, slow]) as reviewers:

            def retired() -> float:
                return ours.metric("modelfit_certificate_changes_total", action="retire")

            wait_for("the CA has rotated", retired, lambda count: count >= ROTATIONS, timeout=ROTATIONS * 120)
        assert reviewers.failures == []
        check_sequence(reviewers.bundles)
        assert reviewers.reviews > ROTATIONS * 200
        assert reviewers.connections > ROTATIONS * 50
        assert ours.metric("modelfit_certificate_changes_total", action="issue") >= 1


def trusted(replica: Replica, installation: Installation) -> Callable[[], bool]:
    def check() -> bool:
        try:
            return bool(replica.served(installation.data()["ca.crt"]))
        except OSError:
            return False

    return check


def check_sequence(bundles: list[bytes]) -> None:
    """One CA, then two, then the next one alone: nothing else was published."""
    for before, after in pairwise(bundles):
        old, new = {*load_cas(before)}, {*load_cas(after)}
        # Equal at the switch, which changes the order.
        assert old <= new or new <= old
        assert abs(len(old) - len(new)) <= 1
    assert len({each for bundle in bundles for each in load_cas(bundle)}) >= ROTATIONS + 1


def test_a_ca_whose_key_is_removed_by_hand_is_replaced_and_no_review_fails(controlplane: ControlPlane) -> None:
    """As docs/operations.md describes; the controller is killed in the middle of the rotation."""
    settings = {"propagationMinutes": PROPAGATION / 60}
    with (
        Installation(controlplane) as installation,
        Replica(installation) as quick,
        Replica(installation, sync_seconds=SLOW_MOUNT) as slow,
    ):
        first = controller(controlplane, environment=installation.settings(**settings))
        first.start()
        try:
            for each in (quick, slow):
                wait_for("it serves", trusted(each, installation), timeout=60)
            (old,) = load_cas(installation.data()["ca.crt"])
            with ReviewClients(installation, [quick, slow]) as reviewers:
                installation.damage({"ca.key": None})
                wait_for("the next CA is published", lambda: len(reviewers.bundles) == 2, timeout=20)
                first.process.kill()
                with running_controller(controlplane, environment=installation.settings(**settings)):
                    wait_for(
                        "the old CA is gone",
                        lambda: load_cas(reviewers.bundles[-1]),
                        lambda cas: old not in cas,
                        timeout=120,
                    )
                reviews = reviewers.reviews
                wait_for("reviews go on", lambda: reviewers.reviews > reviews + 40)
            assert reviewers.failures == []
            assert "ca.key" in installation.data()
            assert old in load_cas(reviewers.bundles[1])
        finally:
            first.process.kill()
