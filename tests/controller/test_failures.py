"""What a failed call means: answers as API servers word them, and every way in which the transport fails."""

import inspect
import json
import ssl

import pytest
import urllib3.exceptions
from kubernetes.client.exceptions import ApiException
from urllib3.util.ssl_match_hostname import CertificateError

from webhook.cluster import failures
from webhook.cluster.failures import Failure, Kind


def status(code: int, reason: str, message: str, *causes: str) -> tuple[int, bytes]:
    details = {"causes": [{"reason": cause, "message": cause} for cause in causes]}
    document = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message}
    return code, json.dumps(document | {"details": details}).encode()


ANSWERS = {
    Kind.QUOTA_EXCEEDED: status(
        403,
        "Forbidden",
        'resourceclaims.resource.k8s.io "a" is forbidden: exceeded quota: claims, requested: count/resourceclaims=1',
    ),
    Kind.NAMESPACE_TERMINATING: status(
        403,
        "Forbidden",
        'resourceclaims.resource.k8s.io "a" is forbidden: unable to create new content in namespace b because it is'
        " being terminated",
        "NamespaceTerminating",
    ),
    Kind.FORBIDDEN: status(
        403, "Forbidden", 'resourceclaims is forbidden: User "x" cannot create resource "resourceclaims" in API group'
    ),
    Kind.REFUSED: status(403, "Forbidden", 'admission webhook "a.b.c" denied the request: no GPUs on Sundays'),
    Kind.UNAUTHORIZED: status(401, "Unauthorized", "Unauthorized"),
    Kind.NOT_FOUND: status(404, "NotFound", 'namespaces "a" not found'),
    Kind.ALREADY_EXISTS: status(409, "AlreadyExists", 'resourceclaims.resource.k8s.io "a" already exists'),
    Kind.CONFLICT: status(409, "Conflict", "the object has been modified; please apply your changes to the latest"),
    Kind.EXPIRED: status(410, "Expired", "too old resource version: 1 (2)"),
    Kind.INVALID: status(422, "Invalid", 'ResourceClaim "a" is invalid: spec.devices: Required value'),
    Kind.THROTTLED: status(429, "TooManyRequests", "too many requests, please try again later"),
    Kind.TIMED_OUT: status(504, "Timeout", "Timeout: request did not complete within the allotted timeout"),
    Kind.SERVER_ERROR: status(500, "InternalError", "etcdserver: leader changed"),
    Kind.UNEXPECTED: (302, b"<html>log in</html>"),
}

ONLY_FROM_TRANSPORT = {Kind.UNREACHABLE, Kind.UNTRUSTED, Kind.TLS_FAILED}


@pytest.mark.parametrize("kind", ANSWERS, ids=str)
def test_an_answer_is_told_by_its_status_its_causes_and_its_words(kind: Kind) -> None:
    code, body = ANSWERS[kind]
    failure = failures.of_answer(code, body)
    assert (failure.kind, failure.status) == (kind, code)
    assert kind.sentence in str(failure)


def test_every_kind_is_told_from_something() -> None:
    assert set(ANSWERS) | ONLY_FROM_TRANSPORT == set(Kind)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (400, 'admission webhook "a" denied the request without explanation'),
        (422, "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: failed expression: false"),
    ],
)
def test_a_policy_may_refuse_with_any_code(code: int, message: str) -> None:
    assert failures.of_answer(*status(code, "Invalid", message)).kind is Kind.REFUSED


def test_a_word_of_a_quota_in_another_answer_is_no_quota() -> None:
    assert failures.of_answer(*status(500, "InternalError", "exceeded quota")).kind is Kind.SERVER_ERROR


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[]", b'"x"', b"<html>502</html>", b'{"kind": "Pod"}'])
def test_a_proxys_page_is_a_failure_of_its_code(body: bytes) -> None:
    failure = failures.of_answer(502, body)
    assert failure.kind is Kind.SERVER_ERROR
    assert "HTTP 502" in failure.message


def test_a_long_answer_is_cut() -> None:
    assert len(failures.of_answer(500, b"x" * 100_000).message) <= 1024
    assert len(failures.of_answer(*status(500, "InternalError", "x" * 100_000)).message) <= 1024


def test_the_wait_that_the_api_server_asks_for_is_read() -> None:
    code, body = ANSWERS[Kind.THROTTLED]
    assert failures.of_answer(code, body, {"Retry-After": "7"}).retry_after == 7
    assert failures.of_answer(code, body, {"retry-after": "soon"}).retry_after is None
    assert failures.of_answer(code, body).retry_after is None


TRANSPORT = {
    urllib3.exceptions.SSLError(ssl.SSLCertVerificationError("certificate verify failed")): Kind.UNTRUSTED,
    urllib3.exceptions.SSLError(CertificateError("hostname 'a' doesn't match 'b'")): Kind.UNTRUSTED,
    urllib3.exceptions.SSLError("of some kind"): Kind.TLS_FAILED,
    ssl.SSLEOFError("EOF occurred in violation of protocol"): Kind.TLS_FAILED,
    urllib3.exceptions.ConnectTimeoutError("a"): Kind.TIMED_OUT,
    urllib3.exceptions.ReadTimeoutError(None, "a", "b"): Kind.TIMED_OUT,  # type: ignore[arg-type]
    urllib3.exceptions.ProtocolError("closed"): Kind.UNREACHABLE,
    ConnectionRefusedError("refused"): Kind.UNREACHABLE,
    BrokenPipeError("broken"): Kind.UNREACHABLE,
    TimeoutError("slow"): Kind.TIMED_OUT,
    OSError(101, "Network is unreachable"): Kind.UNREACHABLE,
    ApiException(status=0, reason="SSLError\nof some kind"): Kind.TLS_FAILED,
    ApiException(status=410, reason="Gone"): Kind.EXPIRED,
    ZeroDivisionError("a bug"): Kind.UNEXPECTED,
}


@pytest.mark.parametrize("error", TRANSPORT, ids=lambda error: f"{type(error).__name__} {error.args}")
def test_an_exception_is_told_by_its_type(error: Exception) -> None:
    assert failures.of_exception(error).kind is TRANSPORT[error]


def test_a_failure_stays_what_it_is() -> None:
    failure = Failure(Kind.CONFLICT, "x")
    assert failures.of_exception(failure) is failure


def test_nothing_that_the_transport_raises_is_unexpected() -> None:
    """A new version of urllib3 may bring an exception that is none of the bases in the table."""
    for name, kind in inspect.getmembers(urllib3.exceptions, inspect.isclass):
        if issubclass(kind, urllib3.exceptions.HTTPError):
            # Some cannot be printed before they are initialised.
            silent = type(name, (kind,), {"__str__": lambda self: "", "__init__": lambda self: None})
            error = silent()
            assert failures.of_exception(error).kind is not Kind.UNEXPECTED, name


def test_what_is_hopeless_is_not_tried_again_and_what_is_the_servers_is_nobodys_fault() -> None:
    assert [kind for kind in Kind if not kind.retried] == [Kind.NAMESPACE_TERMINATING]
    assert not [kind for kind in Kind if kind.transient and kind.reported]
