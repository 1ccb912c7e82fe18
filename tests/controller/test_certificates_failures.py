"""Looks at the certificate that fail, in part or altogether, and looks at the same time."""

from datetime import timedelta

import pytest

from certs import entries, pem
from tests.certs.tls_clients import accepts
from tests.controller.keeping import HOST, NOON, Clock, failing, in_place, keeper
from tests.controller.objects import MUTATING, SECRET, Objects
from webhook.cluster.api_errors import ErrorReason
from webhook.controller.certificates import FIRST_PAUSE, LONGEST_PAUSE, LOOK_SECONDS


def test_one_configuration_that_may_not_be_read_leaves_the_other_one_healed(objects: Objects, clock: Clock) -> None:
    objects.before = failing(ErrorReason.FORBIDDEN, path=MUTATING)
    ours = keeper(objects, clock)
    assert ours.look(act=True) < LOOK_SECONDS
    assert objects.bundles()["validate.modelfit.llmfit.ai"] == objects.data()["ca.crt"]
    assert "lacks the permission" in ours.problem()


def test_one_configuration_that_may_not_be_written_leaves_the_other_one_healed(objects: Objects, clock: Clock) -> None:
    objects.before = failing(ErrorReason.REFUSED, method="PATCH", path=MUTATING)
    ours = keeper(objects, clock)
    ours.look(act=True)
    assert objects.bundles()["validate.modelfit.llmfit.ai"] == objects.data()["ca.crt"]
    assert "an admission policy or webhook of the cluster refuses it" in ours.problem()


def test_without_a_view_of_a_configuration_leaves_are_renewed_and_authorities_are_not_changed(
    objects: Objects, clock: Clock
) -> None:
    keeper(objects, clock).look(act=True)
    authorities = objects.data()["ca.crt"]
    objects.before = failing(ErrorReason.FORBIDDEN, path=MUTATING)
    ours = keeper(objects, clock)
    leaves = set()
    # Up to the day on which the authority ends.
    for day in range(364):
        clock.now = NOON + timedelta(days=day)
        ours.look(act=True)
        leaves.add(objects.data()["tls.crt"])
        state = entries.parse(objects.data()).state
        assert state.leaf is not None
        assert accepts(authorities, state.leaf.certificate, HOST, clock.now)
    assert len(leaves) > 15


def test_a_secret_that_cannot_be_had_leaves_the_bundles_alone(objects: Objects, clock: Clock) -> None:
    keeper(objects, clock).look(act=True)
    before = objects.bundles()
    del objects.there[SECRET]
    objects.before = failing(ErrorReason.FORBIDDEN, method="POST")
    ours = keeper(objects, clock)
    ours.look(act=True)
    assert objects.bundles() == before
    assert "Secret modelfit/tls does not exist and cannot be created" in ours.problem()
    # Made again, it takes over whom the API server trusts: replicas still serve leaves of it.
    objects.make_secret()
    ours.look(act=True)
    (old,) = pem.certificates(before["mutate.modelfit.llmfit.ai"])[0]
    assert old in pem.certificates(objects.data()["ca.crt"])[0]
    assert in_place(objects)


def test_pauses_grow_with_failures_and_end_with_success(objects: Objects, clock: Clock) -> None:
    ours = keeper(objects, clock)
    objects.before = failing(ErrorReason.SERVER_ERROR)
    pauses = [ours.look(act=True) for _ in range(12)]
    assert FIRST_PAUSE / 2 <= pauses[0] <= FIRST_PAUSE
    assert LONGEST_PAUSE / 2 <= pauses[-1] <= LONGEST_PAUSE
    objects.before = failing(ErrorReason.THROTTLED, retry_after="70")
    assert ours.look(act=True) == 70
    objects.before = lambda method, path: None
    assert ours.look(act=True) == LOOK_SECONDS
    objects.before = failing(ErrorReason.SERVER_ERROR)
    assert ours.look(act=True) <= FIRST_PAUSE


def test_a_bug_ends_no_thread(objects: Objects, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    ours = keeper(objects, clock)

    def bug(method: str, path: str) -> None:
        raise ZeroDivisionError

    objects.before = bug
    assert ours.look(act=True) <= FIRST_PAUSE
    assert "could not look after the certificate" in caplog.text


def test_of_two_that_look_at_the_same_time_one_wins_and_both_publish_its_authority(
    objects: Objects, clock: Clock
) -> None:
    first, second = keeper(objects, clock), keeper(objects, clock)
    began = False

    def overtake(method: str, path: str) -> None:
        nonlocal began
        if method == "PUT" and not began:
            began = True
            second.look(act=True)

    objects.before = overtake
    first.look(act=True)
    for ours in (first, second):
        assert ours.look(act=True) == LOOK_SECONDS
        assert ours.problem() == ""
    assert in_place(objects)
    assert len(pem.certificates(objects.data()["ca.crt"])[0]) == 1


def test_who_was_held_up_publishes_no_older_bundle(objects: Objects, clock: Clock) -> None:
    """It has read everything; then the other one changes the authority; then it goes on."""
    slow, quick = keeper(objects, clock), keeper(objects, clock)
    slow.look(act=True)
    objects.write_bundle(MUTATING, b"")
    held: list[bytes] = []

    def hold_up(method: str, path: str) -> None:
        if method == "PATCH" and not held:
            held.append(b"")
            objects.make_secret({**objects.data(), "ca.key": b""})
            quick.look(act=True)
            held.append(objects.data()["ca.crt"])

    objects.before = hold_up
    slow.look(act=True)
    assert len(pem.certificates(held[1])[0]) == 2
    assert objects.bundles()["mutate.modelfit.llmfit.ai"] == held[1]
