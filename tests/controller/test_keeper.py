"""Carrying out a plan, against an API server that answers by script."""

from collections.abc import Collection

import pytest

from tests.controller.doubles import Script
from tests.controller.examples import NAME, claim, pod
from webhook.cluster.api import JsonObject
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.discovery import ResourceApi
from webhook.controller.events import Recorder
from webhook.controller.pod_reconciler import REMEMBERED_SECONDS, Expectations, Listers, PodReconciler, Result
from webhook.settings import Settings

CLAIMS = "/apis/resource.k8s.io/{}/namespaces/models/resourceclaims"
KEY = "models/llama"
DONE, AGAIN = Result(), Result(again=True)


class Bench:
    """A keeper, the script that answers it, and the copies that it looks at."""

    def __init__(self, version: str | None = "v1") -> None:
        self.script = Script({"versions": [{"version": version}] if version else []})
        self.pods: dict[str, dict[str, object]] = {KEY: pod()}
        self.claims: dict[str, dict[str, object]] = {}
        self.classes: Collection[str] | None = ["gpu.nvidia.com"]
        resource = ResourceApi(self.script.api)
        resource.refresh()
        self.script.calls.clear()
        self.script.bodies.clear()
        copies = Listers(self.pods.get, self.claims.get, lambda: self.classes)
        recorder = Recorder(self.script.api, "host")
        self.keeper = PodReconciler(self.script.api, resource, Settings().admission_config(), copies, recorder)

    def see(self, *answers: JsonObject | ApiError) -> Result:
        self.script.answers = list(answers)
        return self.keeper.see_to(KEY)

    def told(self) -> list[object]:
        """The reasons of the Events that it wrote."""
        return [body["reason"] for body in self.script.bodies if body.get("kind") == "Event"]


def test_a_missing_claim_is_created_once() -> None:
    bench = Bench()
    assert bench.see() == DONE
    # The watch has not shown it yet.
    assert bench.see() == DONE
    assert bench.script.calls == [("POST", CLAIMS.format("v1"))]
    assert bench.told() == []


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_it_is_written_in_the_version_that_is_served(version: str) -> None:
    bench = Bench(version)
    bench.see()
    assert bench.script.calls == [("POST", CLAIMS.format(version))]
    (body,) = bench.script.bodies
    assert body["apiVersion"] == f"resource.k8s.io/{version}"
    assert ("exactly" in str(body)) == (version != "v1beta1")


def test_while_no_version_is_served_it_waits() -> None:
    bench = Bench(None)
    assert bench.see() == AGAIN
    assert bench.script.calls == []


def test_a_claim_that_is_there_needs_no_call() -> None:
    bench = Bench()
    bench.claims[f"models/{NAME}"] = claim()
    assert bench.see() == DONE
    assert bench.script.calls == []


def test_a_pod_that_is_gone_needs_no_call() -> None:
    bench = Bench()
    bench.pods.clear()
    assert bench.see() == DONE
    assert bench.script.calls == []


def test_after_its_claim_is_gone_it_is_made_again() -> None:
    bench = Bench()
    bench.see()
    bench.keeper.forget(claim())
    assert bench.see() == DONE
    assert bench.script.calls == [("POST", CLAIMS.format("v1"))] * 2


def test_a_pod_created_anew_under_its_name_gets_its_own() -> None:
    bench = Bench()
    bench.see()
    bench.pods[KEY] = pod(uid="uid-2")
    bench.see()
    assert len(bench.script.calls) == 2


def test_its_own_claim_of_before_is_recognised() -> None:
    bench = Bench()
    exists = ApiError(ErrorReason.ALREADY_EXISTS, "x", 409)
    assert bench.see(exists, {"metadata": claim()}) == DONE
    assert bench.script.calls == [("POST", CLAIMS.format("v1")), ("GET", f"{CLAIMS.format('v1')}/{NAME}")]
    assert bench.told() == []
    assert bench.see() == DONE
    assert len(bench.script.calls) == 2


def test_a_claim_that_is_somebody_elses_is_told_about_and_tried_again() -> None:
    bench = Bench()
    exists = ApiError(ErrorReason.ALREADY_EXISTS, "x", 409)
    assert bench.see(exists, {"metadata": claim("uid-2")}) == AGAIN
    assert bench.told() == ["ClaimNameTaken"]
    assert {method for method, _ in bench.script.calls} == {"POST", "GET"}


def test_a_claim_that_went_away_in_between_is_created_by_the_next_attempt() -> None:
    bench = Bench()
    exists, gone = ApiError(ErrorReason.ALREADY_EXISTS, "x", 409), ApiError(ErrorReason.NOT_FOUND, "x", 404)
    assert bench.see(exists, gone, {"versions": [{"version": "v1"}]}) == AGAIN
    assert bench.see() == DONE


@pytest.mark.parametrize("kind", [kind for kind in ErrorReason if kind is not ErrorReason.ALREADY_EXISTS], ids=str)
def test_a_failure_is_retried_and_told_about_as_its_kind_says(kind: ErrorReason) -> None:
    bench = Bench()
    assert bench.see(ApiError(kind, "x"), {"versions": [{"version": "v1"}]}).again == kind.retried
    assert bench.told() == ([kind] if kind.reported else [])


def test_the_wait_that_the_api_server_asks_for_is_kept() -> None:
    bench = Bench()
    assert bench.see(ApiError(ErrorReason.THROTTLED, "x", 429, {"Retry-After": "9"})) == Result(True, 9)


def test_a_missing_version_is_looked_for_at_once() -> None:
    bench = Bench("v1beta1")
    assert bench.see(ApiError(ErrorReason.NOT_FOUND, "x", 404), {"versions": [{"version": "v1"}]}) == AGAIN
    bench.see()
    assert bench.script.calls[-1] == ("POST", CLAIMS.format("v1"))


def test_a_missing_device_class_is_told_about() -> None:
    bench = Bench()
    bench.classes = []
    assert bench.see() == DONE
    assert bench.told() == ["DeviceClassMissing"]


def test_device_classes_that_are_not_known_are_not_missed() -> None:
    bench = Bench()
    bench.classes = None
    bench.see()
    assert bench.told() == []


def test_what_was_made_is_remembered_for_a_while() -> None:
    now = [100.0]
    made = Expectations(lambda: now[0])
    made.add("a", "uid-1")
    now[0] += REMEMBERED_SECONDS - 1
    made.add("b", "uid-2")
    assert made.holds("a", "uid-1")
    assert not made.holds("a", "uid-2")
    now[0] += 2
    assert not made.holds("a", "uid-1")
    assert made.holds("b", "uid-2")
    made.drop("b")
    assert not made.holds("b", "uid-2")
