"""Events: what they say, and how seldom."""

from datetime import UTC, datetime

import pytest

from tests.controller.doubles import Script
from tests.controller.examples import pod
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.controller.events import (
    AGAIN_SECONDS,
    BURST,
    MOST_NAMESPACES,
    NAMESPACE_BURST,
    NAMESPACE_PER_SECOND,
    PER_SECOND,
    Recorder,
    event,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
EVENTS = "/api/v1/namespaces/models/events"


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_an_event_is_about_the_very_pod() -> None:
    made = event(pod(), "QuotaExceeded", "no room", NOW, "host_1")
    assert made["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "models",
        "name": "llama",
        "uid": "uid-1",
    }
    assert (made["type"], made["reason"], made["message"]) == ("Warning", "QuotaExceeded", "no room")
    assert made["lastTimestamp"] == "2026-01-02T03:04:05Z"


def test_its_name_is_the_same_for_the_same_pod_and_reason_and_no_other() -> None:
    def name(uid: str, reason: str) -> object:
        metadata = event(pod(uid=uid), reason, "x", NOW, "host")["metadata"]
        assert isinstance(metadata, dict)
        return metadata["name"]

    assert name("a", "Forbidden") == name("a", "Forbidden")
    assert len({name("a", "Forbidden"), name("b", "Forbidden"), name("a", "Invalid")}) == 3


def test_the_longest_pod_name_makes_an_event_name_that_is_allowed() -> None:
    metadata = event(pod(name="a" * 253), "Forbidden", "x", NOW, "host")["metadata"]
    assert isinstance(metadata, dict)
    assert len(metadata["name"]) <= 253


def test_the_same_is_told_once_in_a_while(clock: Clock) -> None:
    script = Script()
    recorder = Recorder(script.api, "host", clock)
    assert recorder.warn(pod(), "Forbidden", "x")
    assert not recorder.warn(pod(), "Forbidden", "x")
    assert recorder.warn(pod(), "Invalid", "x")
    assert recorder.warn(pod(uid="other"), "Forbidden", "x")
    clock.now += AGAIN_SECONDS
    assert recorder.warn(pod(), "Forbidden", "x")
    assert script.calls == [("POST", EVENTS)] * 4
    assert [body["count"] for body in script.bodies] == [1, 1, 1, 2]


def test_an_event_that_is_there_already_goes_on(clock: Clock) -> None:
    script = Script(ApiError(ErrorReason.ALREADY_EXISTS, "x", 409))
    assert Recorder(script.api, "host", clock).warn(pod(), "Forbidden", "why")
    (_, (method, where)) = script.calls
    assert method == "PATCH"
    assert where.startswith(f"{EVENTS}/llama.")
    assert set(script.bodies[1]) == {"message", "lastTimestamp", "count"}


def told(recorder: Recorder, prefix: str, pods: int = 1000, namespaces: int = 1) -> int:
    """Events on so many new pods, spread over namespaces."""
    made = (pod(uid=f"{prefix}{number}", namespace=f"{number % namespaces}") for number in range(pods))
    return sum(recorder.warn(each, "Forbidden", "x") for each in made)


def test_many_pods_have_a_burst_and_then_a_few_a_second(clock: Clock) -> None:
    recorder = Recorder(Script().api, "host", clock)
    assert told(recorder, "a", namespaces=100) == BURST
    clock.now += 2
    assert told(recorder, "b", namespaces=100) == 2 * PER_SECOND
    clock.now += 3600
    assert told(recorder, "c", namespaces=100) == BURST


def test_the_pods_of_one_namespace_leave_room_for_others(clock: Clock) -> None:
    recorder = Recorder(Script().api, "host", clock)
    assert told(recorder, "a") == NAMESPACE_BURST
    assert recorder.warn(pod(uid="other"), "Forbidden", "x")
    for second in range(30):
        clock.now += 1
        assert told(recorder, f"b{second}") == NAMESPACE_PER_SECOND
        assert recorder.warn(pod(uid=f"other {second}", namespace=f"other {second}"), "Forbidden", "x")


def test_namespaces_are_forgotten_without_being_given_more(clock: Clock) -> None:
    recorder = Recorder(Script().api, "host", clock)
    assert told(recorder, "a") == NAMESPACE_BURST
    taken, began = 0, clock.now
    for number in range(2 * MOST_NAMESPACES):
        clock.now += 2 / PER_SECOND
        recorder.warn(pod(uid=f"{number}", namespace=f"other {number}"), "Forbidden", "x")
        taken += told(recorder, f"b{number}", pods=30)
    assert len(recorder._shares) <= MOST_NAMESPACES
    assert taken <= NAMESPACE_PER_SECOND * (clock.now - began) + 1


def test_an_event_that_could_not_be_written_is_tried_again(clock: Clock) -> None:
    script = Script(ApiError(ErrorReason.TIMED_OUT, "x"))
    recorder = Recorder(script.api, "host", clock)
    assert not recorder.warn(pod(), "Forbidden", "x")
    assert recorder.warn(pod(), "Forbidden", "x")


def test_a_long_message_is_cut_to_what_an_event_may_hold(clock: Clock) -> None:
    script = Script()
    Recorder(script.api, "host", clock).warn(pod(), "Forbidden", "é" * 5000)
    assert len(str(script.bodies[0]["message"]).encode()) <= 1024
