"""Every answer of an API server, however odd, is a result or an ApiError at each place that makes a call."""

import json
import threading
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import cast

import pytest
import urllib3
from hypothesis import example, given
from hypothesis import strategies as st
from kubernetes.client import ApiClient, Configuration
from kubernetes.config import ConfigException

from webhook.cluster import api_errors
from webhook.cluster.api import Api
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.client_config import ClientConfig
from webhook.cluster.discovery import ResourceApi
from webhook.cluster.leader_election import LeaderElector, LeaseLock
from webhook.cluster.secret_store import SecretStore
from webhook.cluster.webhook_configurations import WebhookConfiguration
from webhook.controller.object_metadata import strip

WORDS = ["kind", "Status", "details", "causes", "reason", "message", "code", "metadata", "items", "continue", "name"]
WORDS += ["resourceVersion", "spec", "holderIdentity", "leaseTransitions", "leaseDurationSeconds", "renewTime"]
WORDS += [
    "versions",
    "version",
    "v1",
    "data",
    "webhooks",
    "clientConfig",
    "caBundle",
    "annotations",
    "labels",
    "\ud800",
]

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=5)
JSON_VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=20,
)
BODIES = st.binary(max_size=40) | JSON_VALUES.map(lambda value: json.dumps(value).encode())
STATUSES = st.sampled_from([200, 200, 200, 201, 301, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503])
RETRY_AFTER = st.sampled_from(["", "1", "86400", "9" * 400, "9" * 5000, "x", "\u00b2"])

DEEP = b'{"kind": "Status", "details": ' + b"[" * 100_000
DEEP_TEXT = b'{"kind":"Status","message":' + b"[" * 900 + b"]" * 900 + b"}"


class FakeResponse:
    def __init__(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.status, self.data = status, body
        self.headers = urllib3.HTTPHeaderDict(headers)

    def read(self, size: int) -> bytes:
        return self.data[:size]

    def close(self) -> None: ...

    def release_conn(self) -> None: ...


def answering_api(response: FakeResponse) -> Api:
    """An Api whose transport always gives that response."""
    config = ClientConfig(Configuration(), lambda configuration: None, "default")
    api = Api(config, connections=1, user_agent="test")
    client = SimpleNamespace(call_api=lambda *_, **__: SimpleNamespace(response=response))
    api._client = cast(ApiClient, client)
    return api


def lead(api: Api) -> None:
    errors: list[ApiError] = []
    lock = LeaseLock(api, "modelfit", "modelfit-controller", "first")
    LeaderElector(lock, threading.Event(), lambda _: None, errors.append).step()
    for error in errors:
        raise error


CALL_SITES: dict[str, Callable[[Api], object]] = {
    "call": lambda api: api.call("GET", "/version"),
    "list": lambda api: api.list_objects("/api/v1/pods", {}, strip),
    "stream": lambda api: api.open_stream("/api/v1/pods", {}, accept="a/b", read_seconds=1.0),
    "lease": lead,
    "release": lambda api: LeaseLock(api, "modelfit", "modelfit-controller", "name").release(),
    "discovery": lambda api: ResourceApi(api).refresh(),
    "secret": lambda api: SecretStore(api, "modelfit", "tls").read(),
    "webhooks": lambda api: WebhookConfiguration(api, "mutating", "modelfit").read(),
}


@pytest.mark.parametrize("call_site", CALL_SITES)
@given(status=STATUSES, body=BODIES, retry_after=RETRY_AFTER)
@example(status=403, body=b'{"kind": "Status", "details": "text"}', retry_after="9" * 400)
@example(status=403, body=b'{"kind": "Status", "details": {"causes": [null]}}', retry_after="")
@example(status=403, body=b'{"kind": "Status", "details": [], "message": {}}', retry_after="")
@example(status=403, body=DEEP, retry_after="")
@example(status=403, body=DEEP_TEXT, retry_after="")
@example(status=200, body=DEEP, retry_after="")
@example(status=200, body=b'{"a": ' + b"9" * 5000 + b"}", retry_after="")
@example(status=200, body=b'{"metadata": {"continue": "\\ud800"}, "items": []}', retry_after="")
@example(status=200, body=b'{"metadata": {}, "items": [{"metadata": null}]}', retry_after="")
@example(status=200, body=b'{"data": {"tls.crt": "\\u00e9"}}', retry_after="")
@example(
    status=200,
    body=b'{"webhooks": [{"name": "pods.modelfit.llmfit.ai", "clientConfig": {"caBundle": "\\u00e9"}}]}',
    retry_after="",
)
def test_every_answer_is_a_result_or_an_api_error(call_site: str, status: int, body: bytes, retry_after: str) -> None:
    headers = {"Retry-After": retry_after, "Content-Type": "text/html"}
    api, errors = answering_api(FakeResponse(status, body, headers)), []
    try:
        CALL_SITES[call_site](api)
    except ApiError as error:
        errors.append(error)
    assert all(len(str(error)) < 1200 for error in errors)
    assert all((error.retry_after or 0) <= api_errors.MAX_RETRY_AFTER_SECONDS for error in errors)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"items": []},
        {"metadata": {}},
        {"metadata": {}, "items": {}},
        {"metadata": {}, "items": [None]},
        {"metadata": {}, "items": [{"metadata": {"name": 5}}]},
        {"metadata": {"continue": "same"}, "items": []},
    ],
    ids=json.dumps,
)
def test_an_incomplete_list_is_an_error_because_what_it_lacks_would_count_as_deleted(document: object) -> None:
    api = answering_api(FakeResponse(200, json.dumps(document).encode(), {}))
    with pytest.raises(ApiError) as raised:
        api.list_objects("/api/v1/pods", {})
    assert raised.value.reason is ErrorReason.UNEXPECTED


def test_a_list_of_null_is_empty() -> None:
    body = b'{"metadata": {"resourceVersion": "7"}, "items": null}'
    assert answering_api(FakeResponse(200, body, {})).list_objects("/api/v1/pods", {}) == ([], "7")


@pytest.mark.parametrize("answer", [{}, {"versions": "v1"}, {"versions": None}], ids=json.dumps)
def test_discovery_keeps_the_version_after_an_answer_that_is_no_group(answer: object) -> None:
    response = FakeResponse(200, b'{"versions": [{"version": "v1"}, {"version": "\\u001b[2J"}, null]}', {})
    resource = ResourceApi(answering_api(response))
    assert resource.refresh()
    response.data = json.dumps(answer).encode()
    with pytest.raises(ApiError):
        resource.refresh()
    assert resource.version == "v1"
    assert resource._served == ("v1",)


def fail_to_load(configuration: Configuration) -> None:
    raise ConfigException("Token file exists but empty.")


def test_credentials_that_cannot_be_read_are_an_api_error() -> None:
    configuration = Configuration()
    configuration.refresh_api_key_hook = fail_to_load  # type: ignore[assignment]
    api = Api(ClientConfig(configuration, fail_to_load, "default"), connections=1, user_agent="test")
    with pytest.raises(ApiError, match="Token file exists but empty") as raised:
        api.call("GET", "/version")
    assert raised.value.reason is ErrorReason.UNAUTHORIZED


def test_a_refusal_is_reported_if_there_are_no_other_credentials_to_read() -> None:
    api = answering_api(FakeResponse(401, b"", {}))
    api._config._load = fail_to_load
    with pytest.raises(ApiError, match="HTTP 401") as raised:
        api.call("GET", "/version")
    assert raised.value.reason is ErrorReason.UNAUTHORIZED


def test_an_answer_that_cannot_be_decoded_is_not_in_the_message() -> None:
    api = answering_api(FakeResponse(200, b"<html>secret</html>", {"Content-Type": "text/html"}))
    with pytest.raises(ApiError) as raised:
        api.call("GET", "/version")
    assert raised.value.message == "not a JSON object: 19 bytes of text/html"
