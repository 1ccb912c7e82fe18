"""Responses to reviews: HTTP 200 with the review's uid, whatever the decision."""

import base64
import json
import logging

import pytest
from werkzeug.test import Client

from tests.core import builders
from tests.server.conftest import MAX_BYTES
from webhook.core.admission import decide
from webhook.core.admission.decision import Decision
from webhook.core.admission.review import Review
from webhook.core.admission_config import AdmissionConfig
from webhook.observe.log_rate import LogRate
from webhook.server import admission_handler
from webhook.server.app import create_app


def post_review(client: Client, path: str, body: object) -> builders.Json:
    """The `response` to a review."""
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.data
    assert answer.mimetype == "application/json"
    envelope: builders.Json = json.loads(answer.data)
    assert (envelope["apiVersion"], envelope["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: builders.Json = envelope["response"]
    return response


def test_an_annotated_pod_is_allowed_with_a_patch(client: Client) -> None:
    response = post_review(client, "/mutate", builders.body(builders.pod()))
    assert (response["uid"], response["allowed"], response["patchType"]) == (builders.UID, True, "JSONPatch")
    paths = [operation["path"] for operation in json.loads(base64.b64decode(response["patch"]))]
    assert "/spec/resourceClaims" in paths


def test_a_pod_without_the_annotation_is_allowed_without_a_patch(client: Client) -> None:
    response = post_review(client, "/mutate", builders.body(builders.pod(None)))
    assert response["allowed"]
    assert "patch" not in response


def test_an_invalid_pod_is_denied_with_its_uid_a_code_and_a_message(client: Client) -> None:
    for path in ("/mutate", "/validate"):
        response = post_review(client, path, builders.body(builders.pod("{"), uid="another"))
        assert (response["uid"], response["allowed"], response["status"]["code"]) == ("another", False, 422)
        assert "llmfit.ai/model-fit" in response["status"]["message"]


def test_the_validating_webhook_never_patches(client: Client) -> None:
    response = post_review(client, "/validate", builders.body(builders.pod()))
    assert (response["allowed"], response["status"]["reason"]) == (False, "NotInjected")
    assert "patch" not in response


@pytest.mark.parametrize("kind", builders.WORKLOADS)
def test_only_the_validating_webhook_checks_workloads(client: Client, kind: str) -> None:
    workload = builders.workload(kind, builders.pod("{"))
    review = builders.body(workload, kind=builders.kind_of(workload))
    assert post_review(client, "/mutate", review)["allowed"]
    response = post_review(client, "/validate", review)
    assert (response["allowed"], response["status"]["reason"]) == (False, "InvalidModelFit")
    assert "template.metadata.annotations[llmfit.ai/model-fit]" in response["status"]["message"]


@pytest.mark.parametrize("webhook", ["mutate", "validate"])
def test_an_internal_error_is_a_denial_with_the_uid_and_without_content(
    webhook: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(review: Review, config: AdmissionConfig) -> Decision:
        raise LookupError(f"secret content of {review.object}")

    monkeypatch.setattr(decide, webhook, broken)
    client = Client(create_app(AdmissionConfig(), MAX_BYTES, lambda: True))
    response = post_review(client, f"/{webhook}", builders.body(builders.pod()))
    assert (response["uid"], response["allowed"]) == (builders.UID, False)
    assert (response["status"]["code"], response["status"]["reason"]) == (500, "InternalError")
    assert "secret" not in json.dumps(response)
    (record,) = caplog.records
    assert record.exc_info
    assert record.__dict__["fields"]["uid"] == builders.UID


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON"])
def test_the_content_type_may_have_parameters_and_any_case(client: Client, content_type: str) -> None:
    body = json.dumps(builders.body(builders.pod()))
    assert client.post("/mutate", data=body, content_type=content_type).status_code == 200


def test_the_timeout_query_of_the_api_server_is_ignored(client: Client) -> None:
    assert client.post("/mutate?timeout=10s", json=builders.body(builders.pod())).status_code == 200


def log_lines(capsys: pytest.CaptureFixture[str]) -> list[builders.Json]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_log_line_has_names_as_bounded_text_only(
    client: Client, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO, "modelfit.admission")
    for name in ({"secret": "hunter2"}, ["hunter2"], "n" * 30_000):
        target = builders.pod(metadata={"name": name})
        client.post("/mutate", json=builders.body(target, namespace="s" * 5000, operation="CREATE"))
    lines = log_lines(capsys)
    assert [line["name"] for line in lines] == [None, None, "n" * 253]
    assert max(len(json.dumps(line)) for line in lines) < 1500


def test_a_flood_of_reviews_is_not_logged_line_by_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO, "modelfit.admission")
    seconds = [0.0]
    monkeypatch.setattr(admission_handler, "LogRate", lambda: LogRate(now=lambda: seconds[0]))
    client = Client(create_app(AdmissionConfig(), MAX_BYTES, lambda: True))
    body = builders.body(builders.pod(None))
    for _ in range(1500):
        client.post("/mutate", json=body)
    assert len(log_lines(capsys)) == 1000
    seconds[0] = 1
    for _ in range(1500):
        client.post("/mutate", json=body)
    lines = log_lines(capsys)
    assert 1 <= len(lines) < 500
    assert lines[0]["suppressed"] == 500
    assert all(line["suppressed"] > 0 for line in lines if "suppressed" in line)
