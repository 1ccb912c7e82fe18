"""The reconcile of one pod, against scripted responses of the API server."""

from collections.abc import Mapping

import pytest

from tests.controller.sample_metadata import CLAIM_NAME, claim, pod
from tests.controller.scripted_api import ScriptedApi
from webhook.cluster.api_errors import ApiError, ErrorReason, Scope
from webhook.cluster.discovery import ResourceApi
from webhook.controller.events import Recorder
from webhook.controller.pod_reconciler import EXPECTATION_SECONDS, Expectations, Listers, PodReconciler
from webhook.controller.results import Result
from webhook.core.admission.exemptions import InjectedNamespaces
from webhook.json_tree import JsonObject
from webhook.observe.log_throttle import INTERVAL_SECONDS, LogThrottle
from webhook.settings import Settings

CLAIMS = "/apis/resource.k8s.io/{}/namespaces/models/resourceclaims"
KEY = "models/llama"
DONE, CREATED, REQUEUE = Result(), Result(created=True), Result(requeue=True)
NAME_TAKEN = Result(requeue=True, scope=Scope.POD, reason="ClaimNameTaken")
ALREADY_EXISTS = ApiError(ErrorReason.ALREADY_EXISTS, "x", 409)


class Fixture:
    """A reconciler with its caches and its API server."""

    def __init__(self, version: str | None = "v1") -> None:
        self.api = ScriptedApi({"versions": [{"version": version}] if version else []})
        self.pods: dict[str, dict[str, object]] = {KEY: pod()}
        self.claims: dict[str, dict[str, object]] = {}
        self.classes: Mapping[str, JsonObject] | None = {"gpu.nvidia.com": {}}
        resource = ResourceApi(self.api.api)
        resource.refresh()
        self.api.calls.clear()
        self.api.bodies.clear()
        listers = Listers(self.pods.get, self.claims.get, lambda: self.classes, InjectedNamespaces)
        recorder = Recorder(self.api.api, "host")
        self.reconciler = PodReconciler(self.api.api, resource, Settings().admission_config(), listers, recorder)

    def reconcile(self, *responses: JsonObject | ApiError) -> Result:
        self.api.responses = list(responses)
        return self.reconciler.reconcile(KEY)

    @property
    def event_reasons(self) -> list[object]:
        return [body["reason"] for body in self.api.bodies if body.get("kind") == "Event"]


@pytest.fixture
def fixture() -> Fixture:
    return Fixture()


def test_a_missing_claim_is_created_once(fixture: Fixture) -> None:
    assert fixture.reconcile() == CREATED
    # The watch has not reported it yet.
    assert fixture.reconcile() == DONE
    assert fixture.api.calls == [("POST", CLAIMS.format("v1"))]
    assert fixture.event_reasons == []


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_a_claim_is_written_in_the_served_version(version: str) -> None:
    fixture = Fixture(version)
    fixture.reconcile()
    assert fixture.api.calls == [("POST", CLAIMS.format(version))]
    (body,) = fixture.api.bodies
    assert body["apiVersion"] == f"resource.k8s.io/{version}"
    assert ("exactly" in str(body)) == (version != "v1beta1")


def test_without_a_served_version_the_pod_is_requeued() -> None:
    fixture = Fixture(None)
    assert fixture.reconcile() == REQUEUE
    assert fixture.api.calls == []


def test_an_existing_claim_needs_no_call(fixture: Fixture) -> None:
    fixture.claims[f"models/{CLAIM_NAME}"] = claim()
    assert fixture.reconcile() == DONE
    assert fixture.api.calls == []


def test_a_deleted_pod_needs_no_call(fixture: Fixture) -> None:
    fixture.pods.clear()
    assert fixture.reconcile() == DONE
    assert fixture.api.calls == []


def test_a_deleted_claim_is_created_again(fixture: Fixture) -> None:
    fixture.reconcile()
    fixture.reconciler.claim_deleted(claim())
    assert fixture.reconcile() == CREATED
    assert fixture.api.calls == [("POST", CLAIMS.format("v1"))] * 2


def test_a_claim_whose_deletion_is_reported_before_its_creation_returns_is_created_again(
    fixture: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = fixture.api.call

    def call_and_delete(method: str, path: str, **options: object) -> JsonObject:
        response = call(method, path, **options)  # type: ignore[arg-type]
        fixture.reconciler.claim_deleted(claim())
        return response

    monkeypatch.setattr(fixture.api, "call", call_and_delete)
    assert [fixture.reconcile(), fixture.reconcile()] == [CREATED, CREATED]


def test_a_recreated_pod_gets_its_own_claim(fixture: Fixture) -> None:
    fixture.reconcile()
    fixture.pods[KEY] = pod(uid="uid-2")
    fixture.reconcile()
    assert len(fixture.api.calls) == 2


def test_a_claim_of_this_pod_that_the_watch_has_not_reported_is_recognised(fixture: Fixture) -> None:
    assert fixture.reconcile(ALREADY_EXISTS, {"metadata": claim()}) == DONE
    assert fixture.api.calls == [("POST", CLAIMS.format("v1")), ("GET", f"{CLAIMS.format('v1')}/{CLAIM_NAME}")]
    assert fixture.event_reasons == []
    assert fixture.reconcile() == DONE
    assert len(fixture.api.calls) == 2


def test_a_claim_of_another_owner_is_reported_and_the_pod_requeued(fixture: Fixture) -> None:
    assert fixture.reconcile(ALREADY_EXISTS, {"metadata": claim("uid-2")}) == NAME_TAKEN
    assert fixture.event_reasons == ["ClaimNameTaken"]
    assert {method for method, _ in fixture.api.calls} == {"POST", "GET"}


def test_a_claim_that_is_deleted_between_two_calls_is_created_by_the_next_attempt(fixture: Fixture) -> None:
    not_found = ApiError(ErrorReason.NOT_FOUND, "x", 404)
    assert fixture.reconcile(ALREADY_EXISTS, not_found, {"versions": [{"version": "v1"}]}).requeue
    assert fixture.reconcile() == CREATED


@pytest.mark.parametrize("reason", [each for each in ErrorReason if each is not ErrorReason.ALREADY_EXISTS], ids=str)
def test_an_error_is_retried_and_reported_according_to_its_reason(reason: ErrorReason, fixture: Fixture) -> None:
    result = fixture.reconcile(ApiError(reason, "x"), {"versions": [{"version": "v1"}]})
    requeue = reason is not ErrorReason.NAMESPACE_TERMINATING
    assert result == Result(requeue=requeue, scope=reason.scope, reason=reason)
    assert fixture.event_reasons == ([reason] if reason.reported else [])


def test_retry_after_is_respected(fixture: Fixture) -> None:
    throttled = ApiError(ErrorReason.THROTTLED, "x", 429, {"Retry-After": "9"})
    assert fixture.reconcile(throttled) == Result(requeue=True, requeue_after=9, reason="TooManyRequests")


def test_a_version_that_is_no_longer_served_is_replaced_at_once() -> None:
    fixture = Fixture("v1beta1")
    assert fixture.reconcile(ApiError(ErrorReason.NOT_FOUND, "x", 404), {"versions": [{"version": "v1"}]}).requeue
    fixture.reconcile()
    assert fixture.api.calls[-1] == ("POST", CLAIMS.format("v1"))


@pytest.mark.parametrize(("classes", "reasons"), [({}, ["DeviceClassMissing"]), (None, [])], ids=["none", "unknown"])
def test_a_missing_device_class_is_reported_if_the_classes_are_known(
    classes: dict[str, JsonObject] | None, reasons: list[str], fixture: Fixture
) -> None:
    fixture.classes = classes
    assert fixture.reconcile() == CREATED
    assert fixture.event_reasons == reasons


def test_repeated_failures_of_a_namespace_are_one_log_line_with_a_count(
    fixture: Fixture, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = [100.0]
    monkeypatch.setattr(fixture.reconciler, "_throttle", LogThrottle(lambda: now[0]))
    quota, invalid = (ApiError(reason, "x") for reason in (ErrorReason.QUOTA_EXCEEDED, ErrorReason.INVALID))
    for error in (*[quota] * 100, invalid, invalid):
        fixture.reconcile(error)
    now[0] += INTERVAL_SECONDS
    fixture.reconcile(quota)
    lines = [record.__dict__["fields"] for record in caplog.records]
    assert [(line["reason"], line["count"]) for line in lines] == [
        ("QuotaExceeded", 1),
        ("Invalid", 1),
        ("QuotaExceeded", 100),
    ]


def test_an_expectation_expires() -> None:
    now = [100.0]
    expectations = Expectations(lambda: now[0])
    expectations.add("a", "uid-1", since=now[0])
    now[0] += EXPECTATION_SECONDS - 1
    expectations.add("b", "uid-2", since=now[0])
    assert expectations.contains("a", "uid-1")
    assert not expectations.contains("a", "uid-2")
    now[0] += 2
    assert not expectations.contains("a", "uid-1")
    assert expectations.contains("b", "uid-2")
    expectations.delete("b")
    assert not expectations.contains("b", "uid-2")
