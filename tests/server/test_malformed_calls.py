"""Calls that are no reviews: a 4xx with a small JSON body, never a 500."""

import json
import logging
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from tests.core import kit
from tests.server.conftest import MAX_BYTES
from webhook.core.admission_config import AdmissionConfig
from webhook.errors import quote
from webhook.observe.log_throttle import LogThrottle
from webhook.server import admission_handler
from webhook.server.app import create_app

JSON = "application/json"


def refusal(answer: TestResponse, status: int) -> kit.Json:
    """The body of a refused call."""
    assert answer.status_code == status, answer.data
    assert answer.mimetype == JSON
    assert len(answer.data) < 2048
    body: kit.Json = json.loads(answer.data)
    assert body["error"]
    return body


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}',
        b'{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {"uid": "u"}}',
        b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": ""}}',
        b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": 1}}',
        b"\xff\xfe",
        b'{"a": NaN}',
        b"[" * 5000,
        b'{"a": 1} {"b": 2}',
    ],
    ids=lambda body: repr(body[:24]),
)
def test_a_body_that_is_no_review_is_a_400(client: FlaskClient, body: bytes) -> None:
    for path in ("/mutate", "/validate"):
        refusal(client.post(path, data=body, content_type=JSON), 400)


def test_a_call_that_cannot_be_answered_still_gets_its_uid_back(client: FlaskClient) -> None:
    review = kit.body(kit.pod())
    review["request"]["object"]["spec"]["containers"] = 7
    assert refusal(client.post("/mutate", json=review), 400)["uid"] == kit.UID
    review["request"]["operation"] = ["CREATE"]
    assert refusal(client.post("/mutate", json=review), 400)["uid"] == kit.UID


@pytest.mark.parametrize("content_type", [None, "", "text/plain", "application/yaml", "application/json-patch+json"])
def test_another_content_type_is_a_415(client: FlaskClient, content_type: str | None) -> None:
    refusal(client.post("/mutate", data=json.dumps(kit.body(kit.pod())), content_type=content_type), 415)


def test_a_compressed_body_is_a_415(client: FlaskClient) -> None:
    answer = client.post("/mutate", data=b"\x1f\x8b", content_type=JSON, headers={"Content-Encoding": "gzip"})
    refusal(answer, 415)


def test_an_unknown_path_is_a_404_that_names_the_right_ones(client: FlaskClient) -> None:
    for path in ("/", "/mutate/", "/Mutate", "/mutate/pods", "/static/x", "/\x1b", "/" + "x" * 3000):
        error = refusal(client.post(path, json=kit.body(kit.pod())), 404)["error"]
        assert error.startswith(f"path: {quote(path)}; want /mutate or /validate ")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"])
def test_another_method_is_a_405_that_names_the_right_one(client: FlaskClient, method: str) -> None:
    for path in ("/mutate", "/validate"):
        answer = client.open(path, method=method)
        assert refusal(answer, 405)["error"] == f'method: "{method}" for "{path}"; want POST'
        assert answer.headers["Allow"] == "POST"
    assert refusal(client.post("/healthz"), 405)["error"] == 'method: "POST" for "/healthz"; want GET, HEAD'


def test_a_body_of_the_limit_is_read_and_one_byte_more_is_a_413(client: FlaskClient) -> None:
    body = json.dumps(kit.body(kit.pod()))
    padded = body.ljust(MAX_BYTES)
    assert client.post("/mutate", data=padded, content_type=JSON).status_code == 200
    refusal(client.post("/mutate", data=f"{padded} ", content_type=JSON), 413)


def test_the_limit_holds_for_a_body_without_a_length(client: FlaskClient) -> None:
    class Endless:
        def read(self, size: int) -> bytes:
            return b" " * size

    answer = client.post(
        "/mutate",
        content_type=JSON,
        environ_overrides={"wsgi.input": Endless(), "CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"},
    )
    refusal(answer, 413)


@pytest.mark.parametrize(("error", "status"), [(TimeoutError(), 408), (ConnectionResetError(), 400)])
def test_a_body_that_does_not_arrive_is_no_500(client: FlaskClient, error: OSError, status: int) -> None:
    class Broken:
        def read(self, size: int) -> bytes:
            raise error

    answer = client.post("/mutate", content_type=JSON, environ_overrides={"wsgi.input": Broken()})
    refusal(answer, status)


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Callable[[], list[kit.Json]]:
    """Takes the fields of what was logged of refused calls at the usual level."""
    monkeypatch.setattr(admission_handler, "_refusals", LogThrottle())
    caplog.set_level(logging.INFO)

    def take() -> list[kit.Json]:
        fields = [vars(record)["fields"] for record in caplog.records if record.levelno == logging.WARNING]
        caplog.clear()
        return fields

    return take


def test_a_call_that_is_refused_is_logged_with_what_an_operator_needs(
    client: FlaskClient, logged: Callable[[], list[kit.Json]]
) -> None:
    client.post("/mutate-pods", json={})
    client.put("/mutate", json={})
    client.post("/mutate", data="{}", content_type="text/plain")
    client.post("/mutate", data=b" " * (MAX_BYTES + 1), content_type=JSON)
    client.post("/validate", json={"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"})
    lines = logged()
    assert [(line["status"], line["method"], line["path"], line["calls"]) for line in lines] == [
        (404, "POST", "/mutate-pods", 1),
        (405, "PUT", "/mutate", 1),
        (415, "POST", "/mutate", 1),
        (413, "POST", "/mutate", 1),
        (400, "POST", "/validate", 1),
    ]
    assert {line["peer"] for line in lines} == {"127.0.0.1"}
    assert (
        lines[-1]["why"] == 'saw "admission.k8s.io/v1beta1" "AdmissionReview"; want admission.k8s.io/v1 AdmissionReview'
    )


def test_a_thousand_refused_calls_are_a_line_for_each_status(
    client: FlaskClient, logged: Callable[[], list[kit.Json]]
) -> None:
    for number in range(500):
        client.post(f"/{number}")
        client.post("/mutate", content_type=JSON, data=str(number))
    assert [line["status"] for line in logged()] == [404, 400]


def test_the_log_of_a_refused_call_is_bounded_and_has_nothing_of_the_pod(
    client: FlaskClient, logged: Callable[[], list[kit.Json]]
) -> None:
    client.post("/" + "x" * 3000)
    client.post("/mutate", json=kit.body(kit.pod(annotations={"secret": ["hunter2"]})))
    client.post("/mutate", json=kit.body(kit.pod(annotations={"secret": ["hunter2"]})))
    wrong, misshapen = logged()
    assert len(wrong["path"]) == 64
    assert misshapen["why"] == "the object in the review has not the shape of its kind"
    assert "secret" not in json.dumps(misshapen)


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_ANY = st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
_REQUEST = st.fixed_dictionaries(
    {},
    optional={
        "uid": st.just("u") | _ANY,
        "kind": st.just({"group": "", "version": "v1", "kind": "Pod"}) | _ANY,
        "operation": st.sampled_from(["CREATE", "UPDATE", "DELETE", "CONNECT"]) | _ANY,
        "namespace": st.just("team-a") | _ANY,
        "subResource": _ANY,
        "dryRun": _ANY,
        "object": st.fixed_dictionaries(
            {}, optional={"metadata": st.fixed_dictionaries({}, optional={"annotations": _ANY, "labels": _ANY})}
        )
        | st.just(kit.pod())
        | _ANY,
        "oldObject": _ANY,
    },
)
_REVIEW = st.fixed_dictionaries(
    {"apiVersion": st.just("admission.k8s.io/v1"), "kind": st.just("AdmissionReview"), "request": _REQUEST}
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    body=_REVIEW.map(lambda document: json.dumps(document).encode()) | st.binary(),
    path=st.sampled_from(["/mutate", "/validate"]),
)
def test_no_input_gives_a_500(body: bytes, path: str) -> None:
    answer = (
        create_app(AdmissionConfig(), MAX_BYTES, lambda: True).test_client().post(path, data=body, content_type=JSON)
    )
    assert answer.status_code in (200, 400)
    if answer.status_code == 200:
        response = json.loads(answer.data)["response"]
        assert response["uid"] == json.loads(body)["request"]["uid"]
        assert response.get("status", {}).get("code") != 500
