"""Reconciles that fail, and reconcilers that run at the same time."""

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import cast

import greenlet
import pytest

from certs import pem, secret_data
from certs.rotation_config import RotationConfig
from tests.certs.tls_clients import accepts
from tests.controller.fake_api_server import HOST, MUTATING, NOON, SECRET, Clock, FakeApiServer, fail, succeed
from webhook.cluster.api_errors import ErrorReason
from webhook.controller.certificate_reconciler import BACKOFF, RESYNC_SECONDS, CertificateReconciler

VALIDATE = "validate.modelfit.llmfit.ai"


@pytest.mark.parametrize(
    ("failure", "problem"),
    [
        (fail(ErrorReason.FORBIDDEN, path=MUTATING), "lacks the permission"),
        (
            fail(ErrorReason.REFUSED, method="PATCH", path=MUTATING),
            "an admission policy or webhook of the cluster refuses it",
        ),
    ],
    ids=["not readable", "not writable"],
)
def test_a_failure_on_one_configuration_does_not_affect_the_other(
    server: FakeApiServer, clock: Clock, failure: Callable[[str, str], None], problem: str
) -> None:
    server.before = failure
    reconciler = server.reconciler(clock)
    assert reconciler.reconcile(act=True) < RESYNC_SECONDS
    assert server.ca_bundles()[VALIDATE] == server.data()["ca.crt"]
    assert problem in reconciler.problem()


def test_while_a_configuration_is_not_readable_leaves_are_renewed_and_cas_are_kept(
    server: FakeApiServer, clock: Clock
) -> None:
    server.reconciler(clock).reconcile(act=True)
    bundle = server.data()["ca.crt"]
    server.before = fail(ErrorReason.FORBIDDEN, path=MUTATING)
    reconciler = server.reconciler(clock)
    leaves = set()
    # Until the CA expires.
    for day in range(364):
        clock.now = NOON + timedelta(days=day)
        reconciler.reconcile(act=True)
        leaves.add(server.data()["tls.crt"])
        leaf = secret_data.parse(server.data())[0].leaf
        assert leaf is not None
        assert accepts(bundle, leaf.certificate, HOST, clock.now)
    assert len(leaves) > 15


def test_a_secret_that_cannot_be_created_leaves_the_ca_bundles_alone(server: FakeApiServer, clock: Clock) -> None:
    server.reconciler(clock).reconcile(act=True)
    before = server.ca_bundles()
    del server.objects[SECRET]
    server.before = fail(ErrorReason.FORBIDDEN, method="POST")
    reconciler = server.reconciler(clock)
    reconciler.reconcile(act=True)
    assert server.ca_bundles() == before
    assert "Secret modelfit/tls does not exist and cannot be created" in reconciler.problem()
    # Replicas still serve leaves of the old CA.
    server.make_secret()
    reconciler.reconcile(act=True)
    (old,) = pem.load_certificates(before[VALIDATE])[0]
    assert old in pem.load_certificates(server.data()["ca.crt"])[0]
    assert server.consistent()


def test_a_secret_that_is_deleted_during_a_reconcile_leaves_every_trusted_ca(
    server: FakeApiServer, clock: Clock
) -> None:
    server.reconciler(clock).reconcile(act=True)
    before = server.ca_bundles()
    server.make_secret()

    def delete(method: str, path: str) -> None:
        if method == "PUT":
            del server.objects[SECRET]

    server.before = delete
    server.reconciler(clock).reconcile(act=True)
    assert SECRET not in server.objects
    for name, bundle in server.ca_bundles().items():
        assert before[name] in bundle


def test_delays_grow_with_failures_and_end_with_success(
    server: FakeApiServer, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    reconciler = server.reconciler(clock)
    server.before = fail(ErrorReason.SERVER_ERROR)
    delays = [reconciler.reconcile(act=True) for _ in range(12)]
    assert BACKOFF.first / 2 <= delays[0] <= BACKOFF.first
    assert BACKOFF.maximum / 2 <= delays[-1] <= BACKOFF.maximum
    assert caplog.text.count("certificate reconcile failed, retrying") == 12
    server.before = fail(ErrorReason.THROTTLED, retry_after="50")
    assert reconciler.reconcile(act=True) == 50
    server.before = succeed
    assert reconciler.reconcile(act=True) == RESYNC_SECONDS
    server.before = fail(ErrorReason.SERVER_ERROR)
    assert reconciler.reconcile(act=True) <= BACKOFF.first


def test_an_unexpected_exception_does_not_end_the_loop(
    server: FakeApiServer, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    def bug(method: str, path: str) -> None:
        raise ZeroDivisionError

    server.before = bug
    assert server.reconciler(clock).reconcile(act=True) <= BACKOFF.first
    assert "ZeroDivisionError" in caplog.text


def test_of_two_concurrent_reconcilers_one_wins_and_both_publish_its_ca(server: FakeApiServer, clock: Clock) -> None:
    first, second = server.reconciler(clock), server.reconciler(clock)
    overtaken = False

    def overtake(method: str, path: str) -> None:
        nonlocal overtaken
        if method == "PUT" and not overtaken:
            overtaken = True
            second.reconcile(act=True)

    server.before = overtake
    assert first.reconcile(act=True) < RESYNC_SECONDS
    for reconciler in (first, second):
        assert reconciler.reconcile(act=True) == RESYNC_SECONDS
        assert reconciler.problem() == ""
    assert server.consistent()
    assert len(pem.load_certificates(server.data()["ca.crt"])[0]) == 1


def test_a_delayed_reconciler_does_not_publish_an_older_bundle(server: FakeApiServer, clock: Clock) -> None:
    """It has read everything; another one begins a CA rotation; then it continues."""
    slow, fast = server.reconciler(clock), server.reconciler(clock)
    slow.reconcile(act=True)
    server.overwrite(MUTATING, b"")
    newer: list[bytes] = []

    def delay(method: str, path: str) -> None:
        if method == "PATCH" and not newer:
            newer.append(b"")
            server.make_secret({**server.data(), "ca.key": b""})
            fast.reconcile(act=True)
            newer[0] = server.data()["ca.crt"]

    server.before = delay
    slow.reconcile(act=True)
    assert len(pem.load_certificates(newer[0])[0]) == 2
    assert server.ca_bundles()["mutate.modelfit.llmfit.ai"] == newer[0]


CALLS = 2
"""Of one reconcile without webhook configurations: read the Secret, write it."""

ORDERS = [
    order
    for order in sorted(set(itertools.permutations([0] * CALLS + [1] * CALLS + [2] * CALLS)))
    if order.index(0) < order.index(1) < order.index(2)
]
"""Every order of the calls of three reconcilers. They are alike, so which is called first does not matter."""


@pytest.mark.parametrize("exists", [True, False], ids=["empty Secret", "no Secret"])
def test_three_concurrent_reconcilers_agree_on_one_ca_in_every_order_of_their_calls(clock: Clock, exists: bool) -> None:
    assert len(ORDERS) == 15
    for order in ORDERS:
        server = FakeApiServer()
        if exists:
            server.make_secret()

        def wait_for_turn(method: str, path: str) -> None:
            cast(greenlet.greenlet, greenlet.getcurrent().parent).switch()

        server.before = wait_for_turn
        reconcilers = [CertificateReconciler(server.store(), [], [HOST], RotationConfig(), clock) for _ in range(3)]
        running = [greenlet.greenlet(lambda each=each: each.reconcile(act=True)) for each in reconcilers]
        for each in running:
            each.switch()
        for turn in order:
            if not running[turn].dead:
                running[turn].switch()
        assert all(each.dead for each in running)
        won = server.data()
        server.before = succeed
        for reconciler in reconcilers:
            assert reconciler.reconcile(act=True) == RESYNC_SECONDS
            assert reconciler.problem() == ""
        assert server.data() == won
