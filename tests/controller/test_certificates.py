"""The certificate reconciler on a simulated clock: order of writes, drift, readiness, metrics."""

import threading
from datetime import datetime, timedelta

import pytest

from certs import pem
from certs.rotation_config import RotationConfig
from tests.certs.tls_clients import accepts
from tests.controller.fake_api_server import (
    FOREIGN,
    HOST,
    MUTATING,
    NOON,
    SECOND,
    SECRET,
    VALIDATING,
    WEBHOOKS,
    Clock,
    FakeApiServer,
    fail,
    succeed,
)
from webhook.cluster.api_errors import ErrorReason
from webhook.controller import controller_metrics
from webhook.controller.certificate_reconciler import RESYNC_SECONDS

SECRET_THEN_CONFIGURATIONS = [("PUT", SECRET), ("PATCH", MUTATING), ("PATCH", VALIDATING)]


def metric(name: str, labels: str = "") -> float:
    series = f"{name}{{{labels}}} " if labels else f"{name} "
    lines = controller_metrics.exposition().decode().splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(series)), 0.0)


def test_one_reconcile_of_an_empty_secret_puts_everything_in_place(server: FakeApiServer, clock: Clock) -> None:
    reconciler = server.reconciler(clock)
    assert reconciler.problem() == "the webhook's certificate: not reconciled yet"
    assert reconciler.reconcile(act=True) == RESYNC_SECONDS
    assert server.consistent()
    assert FOREIGN not in server.ca_bundles()
    assert reconciler.problem() == ""
    assert server.writes == SECRET_THEN_CONFIGURATIONS
    assert server.calls.index(("GET", VALIDATING)) < server.calls.index(("GET", SECRET))


def test_a_ca_is_published_before_the_secret_is_written_and_removed_after_it(
    server: FakeApiServer, clock: Clock
) -> None:
    """Also if all data is lost: a replica may mount the new leaf at once."""
    reconciler = server.reconciler(clock)
    reconciler.reconcile(act=True)
    (old,) = pem.load_certificates(server.data()["ca.crt"])[0]
    server.make_secret()
    server.calls.clear()
    reconciler.reconcile(act=True)
    assert server.writes == [("PATCH", MUTATING), ("PATCH", VALIDATING), ("PUT", SECRET)]
    assert server.consistent()
    assert old in pem.load_certificates(server.data()["ca.crt"])[0]
    server.calls.clear()
    clock.now += RotationConfig().propagation
    reconciler.reconcile(act=True)
    assert server.writes == SECRET_THEN_CONFIGURATIONS
    assert server.consistent()
    assert old not in pem.load_certificates(server.data()["ca.crt"])[0]


def test_a_configuration_that_changes_during_the_publication_postpones_the_write(
    server: FakeApiServer, clock: Clock
) -> None:
    reconciler = server.reconciler(clock)
    reconciler.reconcile(act=True)
    server.make_secret()
    changed: list[str] = []

    def change(method: str, path: str) -> None:
        if method == "PATCH" and not changed:
            changed.append(path)
            server.put(path, server.objects[path])

    server.before = change
    assert reconciler.reconcile(act=True) < RESYNC_SECONDS
    assert server.data() == {}
    # A conflict is no problem of the certificate.
    assert reconciler.problem() == ""
    reconciler.reconcile(act=True)
    assert server.consistent()


def test_a_configuration_that_must_not_be_written_does_not_postpone_the_write(
    server: FakeApiServer, clock: Clock
) -> None:
    reconciler = server.reconciler(clock)
    reconciler.reconcile(act=True)
    server.make_secret()
    server.before = fail(ErrorReason.REFUSED, method="PATCH", path=MUTATING)
    reconciler.reconcile(act=True)
    assert "tls.crt" in server.data()
    assert server.ca_bundles()["validate.modelfit.llmfit.ai"] == server.data()["ca.crt"]


def test_a_second_reconcile_writes_nothing(server: FakeApiServer, clock: Clock) -> None:
    reconciler = server.reconciler(clock)
    reconciler.reconcile(act=True)
    server.calls.clear()
    reconciler.reconcile(act=True)
    assert server.calls == [("GET", MUTATING), ("GET", VALIDATING), ("GET", SECRET)]


def test_a_non_leader_writes_nothing_and_reports_problems(server: FakeApiServer, clock: Clock) -> None:
    waiting = server.reconciler(clock)
    waiting.reconcile(act=False)
    assert server.writes == []
    assert waiting.problem() == "the webhook's certificate: private key: it is empty; want a private key in PEM"
    server.reconciler(clock).reconcile(act=True)
    waiting.reconcile(act=False)
    assert waiting.problem() == ""
    server.overwrite(VALIDATING, None)
    waiting.reconcile(act=False)
    where = "ValidatingWebhookConfiguration ours, validate.modelfit.llmfit.ai"
    problem = "CA bundle: it is empty; want certificates in PEM"
    assert waiting.problem() == f"the webhook's certificate: {where}: {problem}"


def test_a_certificate_that_expires_while_the_api_server_is_down_is_a_problem(
    server: FakeApiServer, clock: Clock
) -> None:
    reconciler = server.reconciler(clock)
    reconciler.reconcile(act=True)
    server.before = fail(ErrorReason.UNREACHABLE)
    clock.now += timedelta(days=29)
    reconciler.reconcile(act=True)
    assert reconciler.problem() == ""
    clock.now += timedelta(days=2)
    assert "expired" in reconciler.problem()


@pytest.mark.parametrize("bundle", [b"", b"garbage", None], ids=["empty", "garbage", "absent"])
@pytest.mark.parametrize("path", WEBHOOKS)
def test_an_overwritten_ca_bundle_is_restored_counted_and_logged(
    server: FakeApiServer, clock: Clock, caplog: pytest.LogCaptureFixture, path: str, bundle: bytes | None
) -> None:
    reconciler = server.reconciler(clock)
    reconciler.reconcile(act=True)
    healed = metric("modelfit_ca_bundle_patches_total", 'reason="healed"')
    server.overwrite(path, bundle)
    reconciler.reconcile(act=True)
    bundles = server.ca_bundles()
    assert bundles.pop(FOREIGN, bundle) == bundle
    assert set(bundles.values()) == {server.data()["ca.crt"]}
    assert metric("modelfit_ca_bundle_patches_total", 'reason="healed"') == healed + 1
    assert "caBundle was overwritten, restored" in caplog.text


@pytest.mark.parametrize("missing", [{MUTATING}, {VALIDATING}, {*WEBHOOKS}], ids=["mutating", "validating", "both"])
def test_a_configuration_that_is_created_later_gets_its_ca_bundle(
    server: FakeApiServer, clock: Clock, missing: set[str]
) -> None:
    for path in missing:
        del server.objects[path]
    reconciler = server.reconciler(clock)
    assert reconciler.reconcile(act=True) == RESYNC_SECONDS
    assert reconciler.problem() == ""
    for path in missing:
        server.make_configuration(path)
    reconciler.reconcile(act=True)
    assert server.consistent()
    assert reconciler.note() == ""


@pytest.mark.parametrize("act", [True, False], ids=["leader", "non-leader"])
@pytest.mark.parametrize("change", ["deleted", "emptied"])
def test_a_missing_configuration_is_logged_once_and_counted_while_it_is_missing(
    server: FakeApiServer, clock: Clock, caplog: pytest.LogCaptureFixture, change: str, act: bool
) -> None:
    name = "modelfit_webhook_configurations_missing"
    server.reconciler(clock).reconcile(act=True)
    reconciler = server.reconciler(clock)
    reconciler.reconcile(act=act)
    assert (reconciler.note(), metric(name)) == ("", 0)
    if change == "deleted":
        del server.objects[VALIDATING]
    else:
        server.objects[VALIDATING]["webhooks"] = []
    for _ in range(3):
        reconciler.reconcile(act=act)
        # An installation creates it after the controller is ready.
        assert reconciler.problem() == ""
        assert reconciler.note() == "ready, but missing or without a webhook: ValidatingWebhookConfiguration ours"
        assert metric(name) == 1
    assert caplog.text.count("webhook configurations are missing") == 1
    # A configuration that cannot be read does not count as missing.
    server.before = fail(ErrorReason.FORBIDDEN, path=VALIDATING)
    reconciler.reconcile(act=act)
    assert metric(name) == 0
    server.before = succeed
    server.make_configuration(VALIDATING)
    reconciler.reconcile(act=act)
    assert (reconciler.note(), metric(name)) == ("", 0)


def test_in_an_hour_every_ca_bundle_trusts_every_leaf_that_may_be_served(server: FakeApiServer, clock: Clock) -> None:
    """CAs of ten minutes; now and then a caBundle is emptied, or the API server is down."""
    config = RotationConfig(600 * SECOND, 200 * SECOND, 20 * SECOND)
    reconciler = server.reconciler(clock, config)
    leaves: list[tuple[datetime, bytes]] = []
    bundles: set[bytes] = set()
    for turn in range(1800):
        clock.now = NOON + turn * 2 * SECOND
        down = turn % 97 < 4
        server.before = fail(ErrorReason.UNREACHABLE) if down else succeed
        if turn % 41 == 7:
            server.overwrite(MUTATING if turn % 2 else VALIDATING, b"")
        reconciler.reconcile(act=True)
        data = server.data()
        bundles.add(data.get("ca.crt", b""))
        if down:
            continue
        if not leaves or leaves[-1][1] != data["tls.crt"]:
            leaves.append((clock.now, data["tls.crt"]))
        ends = [at for at, _ in leaves[1:]] + [clock.now]
        for (_, leaf), end in zip(leaves, ends, strict=True):
            if end + config.propagation > clock.now:
                (certificate,) = pem.load_certificates(leaf)[0]
                for name, bundle in server.ca_bundles().items():
                    if name != FOREIGN:
                        assert accepts(bundle, certificate, HOST, clock.now), (turn, name)
    assert len({ca for bundle in bundles for ca in pem.load_certificates(bundle)[0]}) >= 6
    assert len(leaves) >= 18


def test_a_new_leader_reconciles_at_once_and_the_loop_ends_when_stopped(server: FakeApiServer, clock: Clock) -> None:
    reconciler, stop, leading = server.reconciler(clock), threading.Event(), threading.Event()
    thread = threading.Thread(target=reconciler.run, args=(stop, leading.is_set), daemon=True)
    thread.start()
    leading.set()
    reconciler.wake()
    deadline = threading.Event()
    while not server.data() and not deadline.wait(0.01):
        continue
    stop.set()
    reconciler.wake()
    thread.join(10)
    assert not thread.is_alive()
    assert server.consistent()
    assert metric("modelfit_certificate_last_success_timestamp_seconds", 'secret="modelfit/tls"') == NOON.timestamp()


def test_the_expiry_of_leaf_and_ca_are_metrics(server: FakeApiServer, clock: Clock) -> None:
    name = "modelfit_certificate_expiry_timestamp_seconds"
    reconciler = server.reconciler(clock)
    reconciler.reconcile(act=False)
    assert metric(name, 'certificate="leaf"') == 0
    reconciler.reconcile(act=True)
    assert metric(name, 'certificate="leaf"') == (NOON + timedelta(days=30)).timestamp()
    assert metric(name, 'certificate="ca"') == (NOON + timedelta(days=365)).timestamp()
