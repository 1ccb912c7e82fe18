"""Events on pods: content and rate limits."""

from datetime import UTC, datetime

import pytest

from tests.controller.sample_metadata import pod_metadata
from tests.controller.scripted_api import ScriptedApi
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.controller import controller_metrics
from webhook.controller.events import (
    BURST,
    MAX_NAMESPACES,
    NAMESPACE_BURST,
    NAMESPACE_PER_SECOND,
    PER_SECOND,
    REPEAT_SECONDS,
    Recorder,
    build_event,
)
from webhook.controller.results import ClaimResult

NOT_REASONS = {
    ClaimResult.CLAIM_CREATED,
    ClaimResult.CLAIM_PRESENT,
    ClaimResult.NOTHING_TO_DO,
    # The reason is that of the denial.
    ClaimResult.MODEL_FIT_UNUSABLE,
}
"""Results that are not the reason of an Event."""
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
EVENTS = "/api/v1/namespaces/models/events"


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_an_event_references_the_pod_by_uid() -> None:
    made = build_event(pod_metadata(), "QuotaExceeded", "no room", NOW, "host_1")
    assert made["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "models",
        "name": "llama",
        "uid": "uid-1",
    }
    assert (made["type"], made["reason"], made["message"]) == ("Warning", "QuotaExceeded", "no room")
    assert made["lastTimestamp"] == "2026-01-02T03:04:05Z"


def test_the_name_identifies_the_pod_and_the_reason() -> None:
    def name(uid: str, reason: str) -> object:
        metadata = build_event(pod_metadata(uid=uid), reason, "x", NOW, "host")["metadata"]
        assert isinstance(metadata, dict)
        return metadata["name"]

    assert name("a", "Forbidden") == name("a", "Forbidden")
    assert len({name("a", "Forbidden"), name("b", "Forbidden"), name("a", "Invalid")}) == 3


def test_the_longest_pod_name_makes_a_valid_event_name() -> None:
    metadata = build_event(pod_metadata(name="a" * 253), "Forbidden", "x", NOW, "host")["metadata"]
    assert isinstance(metadata, dict)
    assert len(metadata["name"]) <= 253


def test_an_event_is_repeated_after_a_while(clock: Clock) -> None:
    api = ScriptedApi()
    recorder = Recorder(api.api, "host", clock)
    assert recorder.warn(pod_metadata(), "Forbidden", "x")
    assert not recorder.warn(pod_metadata(), "Forbidden", "x")
    assert recorder.warn(pod_metadata(), "Invalid", "x")
    assert recorder.warn(pod_metadata(uid="other"), "Forbidden", "x")
    clock.now += REPEAT_SECONDS
    assert recorder.warn(pod_metadata(), "Forbidden", "x")
    assert api.calls == [("POST", EVENTS)] * 4
    assert [body["count"] for body in api.bodies] == [1, 1, 1, 2]


def test_an_existing_event_is_updated(clock: Clock) -> None:
    api = ScriptedApi(ApiError(ErrorReason.ALREADY_EXISTS, "x", 409))
    assert Recorder(api.api, "host", clock).warn(pod_metadata(), "Forbidden", "why")
    (_, (method, where)) = api.calls
    assert method == "PATCH"
    assert where.startswith(f"{EVENTS}/llama.")
    assert set(api.bodies[1]) == {"message", "lastTimestamp", "count"}


def write_events(recorder: Recorder, prefix: str, pods: int = 1000, namespaces: int = 1) -> int:
    """Warns on new pods, spread over namespaces. The number of Events written."""
    made = (pod_metadata(uid=f"{prefix}{number}", namespace=f"{number % namespaces}") for number in range(pods))
    return sum(recorder.warn(each, "Forbidden", "x") for each in made)


def test_all_events_have_a_rate_limit(clock: Clock) -> None:
    recorder = Recorder(ScriptedApi().api, "host", clock)
    assert write_events(recorder, "a", namespaces=100) == BURST
    clock.now += 2
    assert write_events(recorder, "b", namespaces=100) == 2 * PER_SECOND
    clock.now += 3600
    assert write_events(recorder, "c", namespaces=100) == BURST


def test_the_events_of_a_namespace_have_a_rate_limit(clock: Clock) -> None:
    recorder = Recorder(ScriptedApi().api, "host", clock)
    assert write_events(recorder, "a") == NAMESPACE_BURST
    assert recorder.warn(pod_metadata(uid="other"), "Forbidden", "x")
    for round_ in range(30):
        clock.now += 1 / NAMESPACE_PER_SECOND
        assert write_events(recorder, f"b{round_}") == 1
        assert recorder.warn(pod_metadata(uid=f"other {round_}", namespace=f"other {round_}"), "Forbidden", "x")


def test_many_events_of_one_reason_do_not_hide_another_reason_in_the_namespace(clock: Clock) -> None:
    recorder = Recorder(ScriptedApi().api, "host", clock)
    assert write_events(recorder, "a") == NAMESPACE_BURST
    others = [pod_metadata(uid=uid, namespace="0") for uid in ("one", "two")]
    assert [recorder.warn(each, "Invalid", "x") for each in others] == [True, False]


@pytest.mark.parametrize("noisy", [5, 15])
def test_noisy_namespaces_do_not_use_up_the_events_of_quiet_ones(noisy: int, clock: Clock) -> None:
    """They write whenever they can; a quiet namespace writes one a second, after them."""
    recorder = Recorder(ScriptedApi().api, "host", clock)
    written = 0
    for round_ in range(600):
        written += write_events(recorder, f"a{round_}", pods=30 * noisy, namespaces=noisy)
        if round_ % 4 == 0:
            quiet = pod_metadata(uid=f"quiet {round_}", namespace=f"quiet {round_ % 300}")
            assert recorder.warn(quiet, "Forbidden", "x"), round_
        clock.now += 0.25
    assert written > noisy
    assert written <= BURST + 150 * min(PER_SECOND, noisy * NAMESPACE_PER_SECOND) + noisy * NAMESPACE_BURST


def test_dropping_namespaces_from_memory_does_not_raise_their_limit(clock: Clock) -> None:
    recorder = Recorder(ScriptedApi().api, "host", clock)
    assert write_events(recorder, "a") == NAMESPACE_BURST
    written, started = 0, clock.now
    for number in range(2 * MAX_NAMESPACES):
        clock.now += 2 / PER_SECOND
        recorder.warn(pod_metadata(uid=f"{number}", namespace=f"other {number}"), "Forbidden", "x")
        written += write_events(recorder, f"b{number}", pods=30)
    assert len(recorder._namespace_buckets) <= MAX_NAMESPACES
    assert written <= NAMESPACE_PER_SECOND * (clock.now - started) + 1


def test_a_failed_event_is_written_again(clock: Clock) -> None:
    api = ScriptedApi(ApiError(ErrorReason.TIMED_OUT, "x"))
    recorder = Recorder(api.api, "host", clock)
    assert not recorder.warn(pod_metadata(), "Forbidden", "x")
    assert recorder.warn(pod_metadata(), "Forbidden", "x")


def test_events_that_fail_are_one_log_line_for_a_namespace_and_reason(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    errors = [ApiError(reason, "x") for reason in [ErrorReason.NAMESPACE_TERMINATING] * 20 + [ErrorReason.FORBIDDEN]]
    recorder = Recorder(ScriptedApi(*errors).api, "host", clock)
    assert write_events(recorder, "llama", pods=21) == 0
    lines = [record.__dict__["fields"] for record in caplog.records]
    assert [(str(errors[index]), 1) for index in (0, 20)] == [(line["error"], line["count"]) for line in lines]


def test_a_long_message_is_truncated_to_the_limit_of_events(clock: Clock) -> None:
    api = ScriptedApi()
    Recorder(api.api, "host", clock).warn(pod_metadata(), "Forbidden", "é" * 5000)
    assert len(str(api.bodies[0]["message"]).encode()) <= 1024


@pytest.mark.parametrize("reason", sorted({*ClaimResult} - NOT_REASONS))
def test_the_count_of_a_reason_exists_from_the_start(reason: ClaimResult) -> None:
    assert f'modelfit_events_total{{reason="{reason}",result="written"}} ' in controller_metrics.exposition().decode()
