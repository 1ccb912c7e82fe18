"""The classification of failed calls: responses of API servers, and exceptions of the transport."""

import inspect
import json
import ssl

import pytest
import urllib3.exceptions
from kubernetes.client.exceptions import ApiException
from urllib3.util.ssl_match_hostname import CertificateError

from webhook.cluster import api_errors
from webhook.cluster.api_errors import MAX_RETRY_AFTER_SECONDS, ApiError, ErrorReason, Scope


def status(code: int, reason: str, message: str, *causes: str) -> tuple[int, bytes]:
    details = {"causes": [{"reason": cause, "message": cause} for cause in causes]}
    document = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message}
    return code, json.dumps(document | {"details": details}).encode()


RESPONSES = {
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

TRANSPORT_ONLY = {ErrorReason.UNREACHABLE, ErrorReason.UNTRUSTED, ErrorReason.TLS_FAILED}


@pytest.mark.parametrize("reason", RESPONSES, ids=str)
def test_a_response_is_classified_by_status_causes_and_words(reason: ErrorReason) -> None:
    code, body = RESPONSES[reason]
    error = api_errors.from_response(code, body)
    assert (error.reason, error.status) == (reason, code)
    assert reason.sentence in str(error)


def test_every_reason_has_a_source() -> None:
    assert set(RESPONSES) | TRANSPORT_ONLY == set(ErrorReason)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (400, 'admission webhook "a" denied the request without explanation'),
        (422, "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: failed expression: false"),
    ],
)
def test_a_policy_may_deny_with_any_code(code: int, message: str) -> None:
    assert api_errors.from_response(*status(code, "Invalid", message)).reason is ErrorReason.REFUSED


def test_the_words_of_a_quota_in_another_response_are_ignored() -> None:
    assert api_errors.from_response(*status(500, "InternalError", "exceeded quota")).reason is ErrorReason.SERVER_ERROR


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[]", b'"x"', b"<html>502</html>", b'{"kind": "Pod"}'])
def test_the_error_page_of_a_proxy_is_classified_by_its_code(body: bytes) -> None:
    error = api_errors.from_response(502, body)
    assert error.reason is ErrorReason.SERVER_ERROR
    # The content may be anything, so it is not logged.
    assert error.message == f"HTTP 502: {len(body)} bytes of unknown type"


@pytest.mark.parametrize(
    ("media_type", "described"),
    [("text/html; charset=utf-8", "text/html"), ("<script>", "unknown type"), ("a/" + "b" * 100, "unknown type")],
)
def test_an_unusable_answer_is_described_by_length_and_media_type(media_type: str, described: str) -> None:
    error = api_errors.from_response(502, b"<html>", {"Content-Type": media_type})
    assert error.message == f"HTTP 502: 6 bytes of {described}"


def test_a_long_response_is_truncated() -> None:
    assert len(api_errors.from_response(500, b"x" * 100_000).message) <= 1024
    assert len(api_errors.from_response(*status(500, "InternalError", "x" * 100_000)).message) <= 1024


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7),
        ("0", 0),
        ("86400", MAX_RETRY_AFTER_SECONDS),
        ("9" * 400, MAX_RETRY_AFTER_SECONDS),
        ("9" * 5000, MAX_RETRY_AFTER_SECONDS),
        ("soon", None),
        ("-1", None),
        ("1e9", None),
        ("\u0661", None),
        ("\u00b2", None),
        ("", None),
    ],
    ids=lambda value: str(value)[:10],
)
def test_retry_after_is_parsed_and_limited(value: str, seconds: float | None) -> None:
    code, body = RESPONSES[ErrorReason.THROTTLED]
    for name in ("Retry-After", "retry-after"):
        assert api_errors.from_response(code, body, {name: value}).retry_after == seconds
    assert api_errors.from_response(code, body).retry_after is None


EXCEPTIONS = {
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


@pytest.mark.parametrize("error", EXCEPTIONS, ids=lambda error: f"{type(error).__name__} {error.args}")
def test_an_exception_is_classified_by_its_type(error: Exception) -> None:
    assert api_errors.from_exception(error).reason is EXCEPTIONS[error]


def test_an_api_error_is_returned_unchanged() -> None:
    error = ApiError(ErrorReason.CONFLICT, "x")
    assert api_errors.from_exception(error) is error


def test_every_exception_of_urllib3_is_classified() -> None:
    """A new version of urllib3 may add an exception that derives from no row of the table."""
    for name, base in inspect.getmembers(urllib3.exceptions, inspect.isclass):
        if issubclass(base, urllib3.exceptions.HTTPError):
            # The constructors differ, and `__str__` of some needs their attributes.
            derived = type(name, (base,), {"__str__": lambda self: "", "__init__": lambda self: None})
            error = derived()
            assert api_errors.from_exception(error).reason is not ErrorReason.UNEXPECTED, name


def test_the_scope_of_a_failure_decides_whose_keys_back_off() -> None:
    namespace = {reason for reason in ErrorReason if reason.scope is Scope.NAMESPACE}
    assert namespace == {
        ErrorReason.QUOTA_EXCEEDED,
        ErrorReason.NAMESPACE_TERMINATING,
        ErrorReason.REFUSED,
        ErrorReason.FORBIDDEN,
    }
    assert not [reason for reason in ErrorReason if reason.server_unavailable and reason.scope is not Scope.SERVER]
    assert ErrorReason.INVALID.scope is Scope.POD


def test_a_webhook_that_cannot_be_called_is_a_failure_of_the_namespace() -> None:
    """It may be registered for that namespace only."""
    message = (
        'Internal error occurred: failed calling webhook "a.b.c": failed to call webhook: context deadline exceeded'
    )
    error = api_errors.from_response(*status(500, "InternalError", message))
    assert (error.reason, error.scope) == (ErrorReason.SERVER_ERROR, Scope.NAMESPACE)


def test_an_unavailable_server_is_not_reported_to_the_owner_of_a_pod() -> None:
    assert not [reason for reason in ErrorReason if reason.server_unavailable and reason.reported]
