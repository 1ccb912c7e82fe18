"""What a failed call means: answers as API servers word them, and every way in which the transport fails."""

import inspect
import json
import ssl

import pytest
import urllib3.exceptions
from kubernetes.client.exceptions import ApiException
from urllib3.util.ssl_match_hostname import CertificateError

from webhook.cluster import api_errors
from webhook.cluster.api_errors import ApiError, ErrorReason


def status(code: int, reason: str, message: str, *causes: str) -> tuple[int, bytes]:
    details = {"causes": [{"reason": cause, "message": cause} for cause in causes]}
    document = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message}
    return code, json.dumps(document | {"details": details}).encode()


ANSWERS = {
    ErrorReason.QUOTA_EXCEEDED: status(
        403,
        "Forbidden",
        'resourceclaims.resource.k8s.io "a" is forbidden: exceeded quota: claims, requested: count/resourceclaims=1',
    ),
    ErrorReason.NAMESPACE_TERMINATING: status(
        403,
        "Forbidden",
        'resourceclaims.resource.k8s.io "a" is forbidden: unable to create new content in namespace b because it is'
        " being terminated",
        "NamespaceTerminating",
    ),
    ErrorReason.FORBIDDEN: status(
        403, "Forbidden", 'resourceclaims is forbidden: User "x" cannot create resource "resourceclaims" in API group'
    ),
    ErrorReason.REFUSED: status(403, "Forbidden", 'admission webhook "a.b.c" denied the request: no GPUs on Sundays'),
    ErrorReason.UNAUTHORIZED: status(401, "Unauthorized", "Unauthorized"),
    ErrorReason.NOT_FOUND: status(404, "NotFound", 'namespaces "a" not found'),
    ErrorReason.ALREADY_EXISTS: status(409, "AlreadyExists", 'resourceclaims.resource.k8s.io "a" already exists'),
    ErrorReason.CONFLICT: status(
        409, "Conflict", "the object has been modified; please apply your changes to the latest"
    ),
    ErrorReason.EXPIRED: status(410, "Expired", "too old resource version: 1 (2)"),
    ErrorReason.INVALID: status(422, "Invalid", 'ResourceClaim "a" is invalid: spec.devices: Required value'),
    ErrorReason.THROTTLED: status(429, "TooManyRequests", "too many requests, please try again later"),
    ErrorReason.TIMED_OUT: status(504, "Timeout", "Timeout: request did not complete within the allotted timeout"),
    ErrorReason.SERVER_ERROR: status(500, "InternalError", "etcdserver: leader changed"),
    ErrorReason.UNEXPECTED: (302, b"<html>log in</html>"),
}

ONLY_FROM_TRANSPORT = {ErrorReason.UNREACHABLE, ErrorReason.UNTRUSTED, ErrorReason.TLS_FAILED}


@pytest.mark.parametrize("kind", ANSWERS, ids=str)
def test_an_answer_is_told_by_its_status_its_causes_and_its_words(kind: ErrorReason) -> None:
    code, body = ANSWERS[kind]
    failure = api_errors.from_response(code, body)
    assert (failure.reason, failure.status) == (kind, code)
    assert kind.sentence in str(failure)


def test_every_kind_is_told_from_something() -> None:
    assert set(ANSWERS) | ONLY_FROM_TRANSPORT == set(ErrorReason)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (400, 'admission webhook "a" denied the request without explanation'),
        (422, "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: failed expression: false"),
    ],
)
def test_a_policy_may_refuse_with_any_code(code: int, message: str) -> None:
    assert api_errors.from_response(*status(code, "Invalid", message)).reason is ErrorReason.REFUSED


def test_a_word_of_a_quota_in_another_answer_is_no_quota() -> None:
    assert api_errors.from_response(*status(500, "InternalError", "exceeded quota")).reason is ErrorReason.SERVER_ERROR


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[]", b'"x"', b"<html>502</html>", b'{"kind": "Pod"}'])
def test_a_proxys_page_is_a_failure_of_its_code(body: bytes) -> None:
    failure = api_errors.from_response(502, body)
    assert failure.reason is ErrorReason.SERVER_ERROR
    assert "HTTP 502" in failure.message


def test_a_long_answer_is_cut() -> None:
    assert len(api_errors.from_response(500, b"x" * 100_000).message) <= 1024
    assert len(api_errors.from_response(*status(500, "InternalError", "x" * 100_000)).message) <= 1024


def test_the_wait_that_the_api_server_asks_for_is_read() -> None:
    code, body = ANSWERS[ErrorReason.THROTTLED]
    assert api_errors.from_response(code, body, {"Retry-After": "7"}).retry_after == 7
    assert api_errors.from_response(code, body, {"retry-after": "soon"}).retry_after is None
    assert api_errors.from_response(code, body).retry_after is None


TRANSPORT = {
    urllib3.exceptions.SSLError(ssl.SSLCertVerificationError("certificate verify failed")): ErrorReason.UNTRUSTED,
    urllib3.exceptions.SSLError(CertificateError("hostname 'a' doesn't match 'b'")): ErrorReason.UNTRUSTED,
    urllib3.exceptions.SSLError("of some kind"): ErrorReason.TLS_FAILED,
    ssl.SSLEOFError("EOF occurred in violation of protocol"): ErrorReason.TLS_FAILED,
    urllib3.exceptions.ConnectTimeoutError("a"): ErrorReason.TIMED_OUT,
    urllib3.exceptions.ReadTimeoutError(None, "a", "b"): ErrorReason.TIMED_OUT,  # type: ignore[arg-type]
    urllib3.exceptions.ProtocolError("closed"): ErrorReason.UNREACHABLE,
    ConnectionRefusedError("refused"): ErrorReason.UNREACHABLE,
    BrokenPipeError("broken"): ErrorReason.UNREACHABLE,
    TimeoutError("slow"): ErrorReason.TIMED_OUT,
    OSError(101, "Network is unreachable"): ErrorReason.UNREACHABLE,
    ApiException(status=0, reason="SSLError\nof some kind"): ErrorReason.TLS_FAILED,
    ApiException(status=410, reason="Gone"): ErrorReason.EXPIRED,
    ZeroDivisionError("a bug"): ErrorReason.UNEXPECTED,
}


@pytest.mark.parametrize("error", TRANSPORT, ids=lambda error: f"{type(error).__name__} {error.args}")
def test_an_exception_is_told_by_its_type(error: Exception) -> None:
    assert api_errors.from_exception(error).reason is TRANSPORT[error]


def test_a_failure_stays_what_it_is() -> None:
    failure = ApiError(ErrorReason.CONFLICT, "x")
    assert api_errors.from_exception(failure) is failure


def test_nothing_that_the_transport_raises_is_unexpected() -> None:
    """A new version of urllib3 may bring an exception that is none of the bases in the table."""
    for name, kind in inspect.getmembers(urllib3.exceptions, inspect.isclass):
        if issubclass(kind, urllib3.exceptions.HTTPError):
            # Some cannot be printed before they are initialised.
            silent = type(name, (kind,), {"__str__": lambda self: "", "__init__": lambda self: None})
            error = silent()
            assert api_errors.from_exception(error).reason is not ErrorReason.UNEXPECTED, name


def test_what_is_hopeless_is_not_tried_again_and_what_is_the_servers_is_nobodys_fault() -> None:
    assert [kind for kind in ErrorReason if not kind.retried] == [ErrorReason.NAMESPACE_TERMINATING]
    assert not [kind for kind in ErrorReason if kind.transient and kind.reported]
