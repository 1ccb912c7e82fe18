"""Requests that are not reviews: a 4xx with a small JSON body, never a 500."""

import io
import json
import logging
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import Client, TestResponse

from tests.core import builders
from tests.server.conftest import MAX_BYTES
from webhook.core.admission_config import AdmissionConfig
from webhook.errors import quote
from webhook.observe.log_throttle import LogThrottle
from webhook.server import rejections
from webhook.server.app import create_app

JSON = "application/json"


def check_rejection(answer: TestResponse, status: int) -> builders.Json:
    """The body of a rejection with this status."""
    assert answer.status_code == status, answer.data
    assert answer.mimetype == JSON
    assert len(answer.data) < 2048
    body: builders.Json = json.loads(answer.data)
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
def test_a_body_that_is_not_a_review_is_a_400(client: Client, body: bytes) -> None:
    for path in ("/mutate", "/validate"):
        check_rejection(client.post(path, data=body, content_type=JSON), 400)


def test_a_malformed_review_gets_its_uid_back(client: Client) -> None:
    review = builders.body(builders.pod())
    review["request"]["object"]["spec"]["containers"] = 7
    assert check_rejection(client.post("/mutate", json=review), 400)["uid"] == builders.UID
    review["request"]["operation"] = ["CREATE"]
    assert check_rejection(client.post("/mutate", json=review), 400)["uid"] == builders.UID


@pytest.mark.parametrize("content_type", [None, "", "text/plain", "application/yaml", "application/json-patch+json"])
def test_another_content_type_is_a_415(client: Client, content_type: str | None) -> None:
    check_rejection(
        client.post("/mutate", data=json.dumps(builders.body(builders.pod())), content_type=content_type), 415
    )


def test_a_compressed_body_is_a_415(client: Client) -> None:
    answer = client.post("/mutate", data=b"\x1f\x8b", content_type=JSON, headers={"Content-Encoding": "gzip"})
    check_rejection(answer, 415)


def test_an_unknown_path_is_a_404_that_names_the_known_paths(client: Client) -> None:
    for path in ("/", "/mutate/", "/Mutate", "/mutate/pods", "/static/x", "/\x1b", "/" + "x" * 3000):
        error = check_rejection(client.post(path, json=builders.body(builders.pod())), 404)["error"]
        assert error.startswith(f"path: {quote(path)}; want /mutate or /validate ")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"])
def test_a_wrong_method_is_a_405_with_the_allowed_methods(client: Client, method: str) -> None:
    for path in ("/mutate", "/validate"):
        answer = client.open(path, method=method)
        assert check_rejection(answer, 405)["error"] == f'method: "{method}" for "{path}"; want POST'
        assert answer.headers["Allow"] == "POST"
    answer = client.post("/healthz")
    assert answer.headers["Allow"] == "GET, HEAD"
    assert check_rejection(answer, 405)["error"] == 'method: "POST" for "/healthz"; want GET, HEAD'


def test_a_body_of_the_maximum_size_is_read_and_one_byte_more_is_a_413(client: Client) -> None:
    body = json.dumps(builders.body(builders.pod()))
    padded = body.ljust(MAX_BYTES)
    assert client.post("/mutate", data=padded, content_type=JSON).status_code == 200
    check_rejection(client.post("/mutate", data=f"{padded} ", content_type=JSON), 413)


@pytest.mark.parametrize("chunked", [False, True])
def test_an_api_servers_review_that_is_too_large_is_denied_with_its_uid(client: Client, chunked: bool) -> None:
    """A 413 would reach the user as an internal error."""
    body = json.dumps(review_in_api_server_order(), separators=(",", ":")).ljust(2 * MAX_BYTES).encode()
    overrides = {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": "" if chunked else str(len(body))}
    answer = client.post("/mutate", content_type=JSON, environ_overrides=overrides)
    response = json.loads(answer.data)["response"]
    assert (response["uid"], response["allowed"], response["status"]["reason"]) == (builders.UID, False, "PodTooLarge")
    assert f"larger than {MAX_BYTES} bytes" in response["status"]["message"]


def test_a_review_that_is_too_large_is_logged_like_others(
    client: Client, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO, "modelfit.admission")
    body = json.dumps(review_in_api_server_order(), separators=(",", ":")).ljust(2 * MAX_BYTES)
    client.post("/mutate", data=body, content_type=JSON)
    line = json.loads(capsys.readouterr().err)
    fields = {name: line[name] for name in ("msg", "uid", "webhook", "allowed", "reason")}
    assert list(fields.values()) == ["review", builders.UID, "mutate", False, "PodTooLarge"]


def review_in_api_server_order() -> builders.Json:
    body = builders.body(builders.pod())
    return {key: body[key] for key in ("kind", "apiVersion", "request")}


def test_the_maximum_size_applies_to_a_body_without_a_length(client: Client) -> None:
    class Endless:
        def read(self, size: int) -> bytes:
            return b" " * size

    answer = client.post(
        "/mutate",
        content_type=JSON,
        environ_overrides={"wsgi.input": Endless(), "CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"},
    )
    check_rejection(answer, 413)


@pytest.mark.parametrize(("error", "status"), [(TimeoutError(), 408), (ConnectionResetError(), 400)])
def test_a_body_that_does_not_arrive_is_a_4xx(client: Client, error: OSError, status: int) -> None:
    class Broken:
        def read(self, size: int) -> bytes:
            raise error

    answer = client.post("/mutate", content_type=JSON, environ_overrides={"wsgi.input": Broken()})
    check_rejection(answer, status)


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Callable[[], list[builders.Json]]:
    """Returns and clears the fields of the warnings logged so far."""
    monkeypatch.setattr(rejections, "_throttle", LogThrottle())
    caplog.set_level(logging.INFO)

    def take() -> list[builders.Json]:
        fields = [vars(record)["fields"] for record in caplog.records if record.levelno == logging.WARNING]
        caplog.clear()
        return fields

    return take


def test_a_rejection_is_logged_with_status_path_peer_and_error(
    client: Client, logged: Callable[[], list[builders.Json]]
) -> None:
    peer = {"REMOTE_ADDR": "10.0.0.9"}
    client.post("/mutate-pods", json={}, environ_base=peer)
    client.put("/mutate", json={}, environ_base=peer)
    client.post("/mutate", data="{}", content_type="text/plain", environ_base=peer)
    client.post("/mutate", data=b" " * (MAX_BYTES + 1), content_type=JSON, environ_base=peer)
    review = {"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}
    client.post("/validate", json=review, environ_base=peer)
    lines = logged()
    assert [(line["status"], line["method"], line["path"], line["count"]) for line in lines] == [
        (404, "POST", "/mutate-pods", 1),
        (405, "PUT", "/mutate", 1),
        (415, "POST", "/mutate", 1),
        (413, "POST", "/mutate", 1),
        (400, "POST", "/validate", 1),
    ]
    assert {line["peer"] for line in lines} == {"10.0.0.9"}
    expected = 'saw "admission.k8s.io/v1beta1" "AdmissionReview"; want admission.k8s.io/v1 AdmissionReview'
    assert lines[-1]["error"] == expected


def test_a_thousand_rejections_are_one_line_for_each_status(
    client: Client, logged: Callable[[], list[builders.Json]]
) -> None:
    for number in range(500):
        client.post(f"/{number}")
        client.post("/mutate", content_type=JSON, data=str(number))
    assert [line["status"] for line in logged()] == [404, 400]


def test_the_log_of_a_rejection_is_bounded_and_has_no_content_of_the_pod(
    client: Client, logged: Callable[[], list[builders.Json]]
) -> None:
    client.post("/" + "x" * 3000)
    client.post("/mutate", json=builders.body(builders.pod(annotations={"secret": ["hunter2"]})))
    client.post("/mutate", json=builders.body(builders.pod(annotations={"secret": ["hunter2"]})))
    wrong_path, malformed = logged()
    assert len(wrong_path["path"]) == 64
    assert malformed["error"] == "the object in the review does not match its kind"
    assert "secret" not in json.dumps(malformed)


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_ANY = st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
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
            {},
            optional={"metadata": st.fixed_dictionaries({}, optional={"annotations": _ANY, "labels": _ANY})},
        )
        | st.just(builders.pod())
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
def test_no_input_causes_a_500(body: bytes, path: str) -> None:
    client = Client(create_app(AdmissionConfig(), MAX_BYTES, lambda: True))
    answer = client.post(path, data=body, content_type=JSON)
    assert answer.status_code in (200, 400)
    if answer.status_code == 200:
        response = json.loads(answer.data)["response"]
        assert response["uid"] == json.loads(body)["request"]["uid"]
        assert response.get("status", {}).get("code") != 500
