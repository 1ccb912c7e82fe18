"""Authority and leaf change while reviews go on: no client ever meets a leaf that its bundle does not trust."""

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
"""As short as they can be with that: an authority for two and a half minutes, a leaf for 48 seconds."""

CHANGES = 10 if LONG_TESTS else 2


def authorities(bundle: bytes) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(bundle)


def test_authorities_and_leaves_change_unattended_and_no_review_fails(controlplane: ControlPlane) -> None:
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

            wait_for("it has changed", retired, lambda seen: seen >= CHANGES, timeout=CHANGES * 120)
        assert reviewers.failures == []
        in_turn(reviewers.bundles)
        assert reviewers.reviews > CHANGES * 200
        assert reviewers.connections > CHANGES * 50
        assert ours.metric("modelfit_certificate_changes_total", action="issue") >= 1


def trusted(replica: Replica, installation: Installation) -> Callable[[], bool]:
    def look() -> bool:
        try:
            return bool(replica.served(installation.data()["ca.crt"]))
        except OSError:
            return False

    return look


def in_turn(bundles: list[bytes]) -> None:
    """One authority, then the next beside it, then that one alone: nothing else was ever published."""
    for before, after in pairwise(bundles):
        old, new = {*authorities(before)}, {*authorities(after)}
        # Equal where the next one becomes the one that signs, which puts it first.
        assert old <= new or new <= old
        assert abs(len(old) - len(new)) <= 1
    assert len({each for bundle in bundles for each in authorities(bundle)}) >= CHANGES + 1


def test_an_authority_whose_key_is_removed_by_hand_is_replaced_and_no_review_fails(controlplane: ControlPlane) -> None:
    """As docs/operations.md says; and the controller that began it is killed in the middle."""
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
            (old,) = authorities(installation.data()["ca.crt"])
            with ReviewClients(installation, [quick, slow]) as reviewers:
                installation.damage({"ca.key": None})
                wait_for("the next one is published", lambda: len(reviewers.bundles) == 2, timeout=20)
                first.process.kill()
                with running_controller(controlplane, environment=installation.settings(**settings)):
                    wait_for(
                        "the old one is gone",
                        lambda: authorities(reviewers.bundles[-1]),
                        lambda seen: old not in seen,
                        timeout=120,
                    )
                so_far = reviewers.reviews
                wait_for("what came after it is used", lambda: reviewers.reviews > so_far + 40)
            assert reviewers.failures == []
            assert "ca.key" in installation.data()
            assert old in authorities(reviewers.bundles[1])
        finally:
            first.process.kill()
