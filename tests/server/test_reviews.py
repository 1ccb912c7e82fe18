"""Reviews: 200 with the uid, whatever is decided."""

import base64
import json
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.core import kit
from webhook.core.admission import decide
from webhook.core.admission.decision import Decision
from webhook.core.admission.review import Review
from webhook.core.admission_config import AdmissionConfig


def ask(client: FlaskClient, path: str, body: object) -> kit.Json:
    """The `response` of the answer to a review."""
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.data
    assert answer.mimetype == "application/json"
    envelope: kit.Json = json.loads(answer.data)
    assert (envelope["apiVersion"], envelope["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: kit.Json = envelope["response"]
    return response


def test_an_annotated_pod_is_allowed_with_a_patch(client: FlaskClient) -> None:
    response = ask(client, "/mutate", kit.body(kit.pod()))
    assert (response["uid"], response["allowed"], response["patchType"]) == (kit.UID, True, "JSONPatch")
    paths = [operation["path"] for operation in json.loads(base64.b64decode(response["patch"]))]
    assert "/spec/resourceClaims" in paths


def test_a_pod_without_the_annotation_is_allowed_without_a_patch(client: FlaskClient) -> None:
    response = ask(client, "/mutate", kit.body(kit.pod(None)))
    assert response["allowed"]
    assert "patch" not in response


def test_an_unacceptable_pod_is_denied_with_its_uid_a_code_and_a_message(client: FlaskClient) -> None:
    for path in ("/mutate", "/validate"):
        response = ask(client, path, kit.body(kit.pod("{"), uid="another"))
        assert (response["uid"], response["allowed"], response["status"]["code"]) == ("another", False, 422)
        assert "llmfit.ai/model-fit" in response["status"]["message"]


def test_the_validating_webhook_never_patches(client: FlaskClient) -> None:
    response = ask(client, "/validate", kit.body(kit.pod()))
    assert (response["allowed"], response["status"]["reason"]) == (False, "NotInjected")
    assert "patch" not in response


def test_a_workload_is_looked_at_by_the_validating_webhook_alone(client: FlaskClient) -> None:
    for kind in kit.WORKLOADS:
        target = kit.workload(kind, kit.pod("{"))
        review = kit.body(target, kind=kit.kind_of(target))
        assert ask(client, "/mutate", review)["allowed"]
        response = ask(client, "/validate", review)
        assert (response["allowed"], response["status"]["reason"]) == (False, "InvalidModelFit")
        assert "template.metadata.annotations[llmfit.ai/model-fit]" in response["status"]["message"]


@pytest.mark.parametrize("webhook", ["mutate", "validate"])
def test_a_fault_of_ours_is_a_denial_with_the_uid_and_without_content(
    webhook: str, make_app: Callable[[], Flask], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(review: Review, config: AdmissionConfig) -> Decision:
        raise LookupError(f"secret content of {review.object}")

    monkeypatch.setattr(decide, webhook, broken)
    response = ask(make_app().test_client(), f"/{webhook}", kit.body(kit.pod()))
    assert (response["uid"], response["allowed"]) == (kit.UID, False)
    assert (response["status"]["code"], response["status"]["reason"]) == (500, "InternalError")
    assert "secret" not in json.dumps(response)
    (record,) = caplog.records
    assert record.exc_info
    assert record.__dict__["fields"]["uid"] == kit.UID


def test_parameters_and_case_of_the_content_type_do_not_matter(client: FlaskClient) -> None:
    body = json.dumps(kit.body(kit.pod()))
    for content_type in ("application/json; charset=utf-8", "Application/JSON"):
        assert client.post("/mutate", data=body, content_type=content_type).status_code == 200


def test_the_query_that_the_api_server_adds_does_not_matter(client: FlaskClient) -> None:
    assert client.post("/mutate?timeout=10s", json=kit.body(kit.pod())).status_code == 200
