"""The look of whoever owns the webhook's certificate, on a clock of the test's: order, races, failures, readiness."""

import threading
from datetime import datetime, timedelta

import pytest

from certs import entries, pem
from certs.policy import Policy
from certs.state import bundle
from tests.certs.tls_clients import accepts
from tests.controller.keeping import HOST, NOON, SECOND, Clock, failing, in_place, keeper
from tests.controller.objects import FOREIGN, MUTATING, OURS, SECRET, VALIDATING, Objects
from webhook.cluster.api_errors import ErrorReason
from webhook.controller import controller_metrics
from webhook.controller.certificates import LOOK_SECONDS


def test_one_look_at_an_empty_secret_puts_everything_in_place(objects: Objects, clock: Clock) -> None:
    ours = keeper(objects, clock)
    assert ours.problem() == "the webhook's certificate: not looked at yet"
    assert ours.look(act=True) == LOOK_SECONDS
    assert in_place(objects)
    assert FOREIGN not in objects.bundles()
    assert ours.problem() == ""
    # The configurations are read before the Secret, and written after it.
    assert [call for call in objects.calls if call[0] != "GET"] == [
        ("PUT", SECRET),
        ("PATCH", MUTATING),
        ("PATCH", VALIDATING),
    ]
    assert objects.calls.index(("GET", VALIDATING)) < objects.calls.index(("GET", SECRET))


def test_who_is_trusted_additionally_is_published_before_the_secret_is_written_and_dropped_after_it(
    objects: Objects, clock: Clock
) -> None:
    """Also where everything is lost and a replica may mount the new leaf in the very next moment."""
    ours = keeper(objects, clock)
    ours.look(act=True)
    (old,) = pem.certificates(objects.data()["ca.crt"])[0]
    objects.make_secret()

    def check(method: str, path: str) -> None:
        if method == "PATCH" and objects.data():
            raise AssertionError("not before")

    objects.before = check
    ours.look(act=True)
    assert in_place(objects)
    assert old in pem.certificates(objects.data()["ca.crt"])[0]
    objects.before = lambda method, path: None
    objects.calls.clear()
    clock.now += Policy().propagation
    ours.look(act=True)
    assert [call for call in objects.calls if call[0] != "GET"] == [
        ("PUT", SECRET),
        ("PATCH", MUTATING),
        ("PATCH", VALIDATING),
    ]
    assert old not in pem.certificates(objects.data()["ca.crt"])[0]
    assert in_place(objects)


def test_a_configuration_that_changes_while_it_is_announced_holds_the_write_back(
    objects: Objects, clock: Clock
) -> None:
    ours = keeper(objects, clock)
    ours.look(act=True)
    objects.make_secret()
    changed: list[str] = []

    def change(method: str, path: str) -> None:
        if method == "PATCH" and not changed:
            changed.append(path)
            objects.put(path, objects.there[path])

    objects.before = change
    assert ours.look(act=True) < LOOK_SECONDS
    assert objects.data() == {}
    # The one who was faster says nothing about the certificate that was seen.
    assert ours.problem() == ""
    ours.look(act=True)
    assert in_place(objects)


def test_a_configuration_that_cannot_be_written_holds_nothing_back(objects: Objects, clock: Clock) -> None:
    ours = keeper(objects, clock)
    ours.look(act=True)
    objects.make_secret()
    objects.before = failing(ErrorReason.REFUSED, method="PATCH", path=MUTATING)
    ours.look(act=True)
    assert "tls.crt" in objects.data()
    assert objects.bundles()["validate.modelfit.llmfit.ai"] == objects.data()["ca.crt"]


def test_a_second_look_writes_nothing(objects: Objects, clock: Clock) -> None:
    ours = keeper(objects, clock)
    ours.look(act=True)
    objects.calls.clear()
    ours.look(act=True)
    assert objects.calls == [("GET", MUTATING), ("GET", VALIDATING), ("GET", SECRET)]


def test_who_does_not_lead_reads_and_says_what_is_wrong(objects: Objects, clock: Clock) -> None:
    waiting = keeper(objects, clock)
    waiting.look(act=False)
    assert {method for method, _ in objects.calls} == {"GET"}
    assert waiting.problem() == "the webhook's certificate: private key: it is empty; want a private key in PEM"
    keeper(objects, clock).look(act=True)
    waiting.look(act=False)
    assert waiting.problem() == ""
    objects.write_bundle(VALIDATING, None)
    waiting.look(act=False)
    where = "ValidatingWebhookConfiguration ours, validate.modelfit.llmfit.ai"
    want = "CA bundle: it is empty; want certificates in PEM"
    assert waiting.problem() == f"the webhook's certificate: {where}: {want}"


def test_a_certificate_that_ends_while_nobody_can_look_is_a_problem(objects: Objects, clock: Clock) -> None:
    ours = keeper(objects, clock)
    ours.look(act=True)
    objects.before = failing(ErrorReason.UNREACHABLE)
    clock.now += timedelta(days=29)
    ours.look(act=True)
    # That the API server is away says nothing about the certificate.
    assert ours.problem() == ""
    clock.now += timedelta(days=2)
    assert "expired" in ours.problem()


@pytest.mark.parametrize("written", [b"", b"garbage", None], ids=["empty", "garbage", "none"])
@pytest.mark.parametrize("path", OURS)
def test_what_somebody_writes_over_is_healed_and_counted(
    objects: Objects, clock: Clock, path: str, written: bytes | None
) -> None:
    ours = keeper(objects, clock)
    ours.look(act=True)
    before = sample("modelfit_ca_bundle_patches_total", 'reason="healed"')
    objects.write_bundle(path, written)
    ours.look(act=True)
    bundles = objects.bundles()
    assert bundles.pop(FOREIGN, written) == written
    assert set(bundles.values()) == {objects.data()["ca.crt"]}
    assert sample("modelfit_ca_bundle_patches_total", 'reason="healed"') == before + 1


def sample(name: str, labels: str) -> float:
    lines = controller_metrics.exposition().decode().splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(f"{name}{{{labels}}}")), 0.0)


@pytest.mark.parametrize("missing", [{MUTATING}, {VALIDATING}, {*OURS}], ids=["mutating", "validating", "both"])
def test_a_configuration_that_is_not_there_is_nothing_to_do_yet(
    objects: Objects, clock: Clock, missing: set[str]
) -> None:
    for path in missing:
        del objects.there[path]
    ours = keeper(objects, clock)
    assert ours.look(act=True) == LOOK_SECONDS
    assert ours.problem() == ""
    for path in missing:
        objects.make_configuration(path)
    ours.look(act=True)
    assert in_place(objects)
    assert ours.remark() == ""


@pytest.mark.parametrize("act", [True, False], ids=["leading", "waiting"])
@pytest.mark.parametrize("how", ["deleted", "emptied"])
def test_a_configuration_that_goes_away_is_told_once_and_counted_for_as_long_as_it_is_missing(
    objects: Objects, clock: Clock, caplog: pytest.LogCaptureFixture, how: str, act: bool
) -> None:
    keeper(objects, clock).look(act=True)
    ours = keeper(objects, clock)
    ours.look(act=act)
    assert (ours.remark(), missing()) == ("", 0)
    if how == "deleted":
        del objects.there[VALIDATING]
    else:
        objects.there[VALIDATING]["webhooks"] = []
    for _ in range(3):
        ours.look(act=act)
        # An installation, too, makes it after us and waits for us to be ready.
        assert ours.problem() == ""
        assert ours.remark() == "ready, but the API server asks no webhook by ValidatingWebhookConfiguration ours"
        assert missing() == 1
    assert caplog.text.count("webhook configurations are not there") == 1
    # What it cannot see it does not call missing.
    objects.before = failing(ErrorReason.FORBIDDEN, path=VALIDATING)
    ours.look(act=act)
    assert missing() == 0
    objects.before = lambda method, path: None
    objects.make_configuration(VALIDATING)
    ours.look(act=act)
    assert (ours.remark(), missing()) == ("", 0)


def missing() -> float:
    lines = controller_metrics.exposition().decode().splitlines()
    (line,) = [line for line in lines if line.startswith("modelfit_webhook_configurations_missing ")]
    return float(line.split()[-1])


POLICY = Policy(600 * SECOND, 200 * SECOND, 20 * SECOND)


def test_an_hour_unattended_no_authority_signs_before_it_is_in_every_configuration(
    objects: Objects, clock: Clock
) -> None:
    """Authorities of ten minutes; now and then somebody empties a bundle, or the API server is away."""
    ours = keeper(objects, clock, POLICY)
    leaves: list[tuple[datetime, bytes]] = []
    seen: set[bytes] = set()
    for turn in range(1800):
        clock.now = NOON + turn * 2 * SECOND
        objects.before = failing(ErrorReason.UNREACHABLE) if turn % 97 < 4 else lambda method, path: None
        if turn % 41 == 7:
            objects.write_bundle(MUTATING if turn % 2 else VALIDATING, b"")
        ours.look(act=True)
        if turn % 97 >= 4:
            data = objects.data()
            if not leaves or leaves[-1][1] != data["tls.crt"]:
                leaves.append((clock.now, data["tls.crt"]))
            # Whatever a replica may serve whose mount is as old as the propagation.
            ends = [at for at, _ in leaves[1:]] + [clock.now]
            for (_, leaf), end in zip(leaves, ends, strict=True):
                if end + POLICY.propagation > clock.now:
                    (certificate,) = pem.certificates(leaf)[0]
                    for name, held in objects.bundles().items():
                        if name != FOREIGN:
                            assert accepts(held, certificate, HOST, clock.now), (turn, name)
            seen.add(data["ca.crt"])
    assert len({each for held in seen for each in pem.certificates(held)[0]}) >= 6
    assert len(leaves) >= 18


def test_nobody_loses_trust_while_there_is_no_secret(objects: Objects, clock: Clock) -> None:
    """Somebody removes the Secret in the middle of a look."""
    keeper(objects, clock).look(act=True)
    before = objects.bundles()
    objects.make_secret()

    def remove(method: str, path: str) -> None:
        if method == "PUT":
            del objects.there[SECRET]

    objects.before = remove
    keeper(objects, clock).look(act=True)
    assert SECRET not in objects.there
    for name, held in objects.bundles().items():
        assert before[name] in held


def test_a_loop_looks_at_once_when_it_begins_to_lead_and_ends_when_told(objects: Objects, clock: Clock) -> None:
    ours, stop, leading = keeper(objects, clock), threading.Event(), threading.Event()
    thread = threading.Thread(target=ours.run, args=(stop, leading.is_set), daemon=True)
    thread.start()
    leading.set()
    ours.nudge()
    deadline = threading.Event()
    while not objects.data() and not deadline.wait(0.01):
        continue
    stop.set()
    ours.nudge()
    thread.join(10)
    assert not thread.is_alive()
    assert in_place(objects)
    assert sample("modelfit_certificate_last_success_timestamp_seconds", 'secret="modelfit/tls"') == NOON.timestamp()


def test_the_ends_of_what_is_stored_are_metrics(objects: Objects, clock: Clock) -> None:
    name = "modelfit_certificate_expiry_timestamp_seconds"
    ours = keeper(objects, clock)
    ours.look(act=False)
    assert sample(name, 'certificate="leaf"') == 0
    ours.look(act=True)
    assert sample(name, 'certificate="leaf"') == (NOON + timedelta(days=30)).timestamp()
    assert sample(name, 'certificate="ca"') == (NOON + timedelta(days=365)).timestamp()
    assert bundle(entries.parse(objects.data()).state) == objects.data()["ca.crt"]
