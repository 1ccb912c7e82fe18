"""Classification of failed calls to the API server.

The API server answers with a Status object: an HTTP code, a `reason` and causes. Its `reason` is often too coarse (a
quota and a missing permission are both Forbidden), so causes and, as a last resort, words of the message are used too.
"""

import http.client
import json
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

import urllib3.exceptions
from kubernetes.client.exceptions import ApiException
from urllib3.util.ssl_match_hostname import CertificateError

from webhook.errors import truncate
from webhook.json_tree import get_list, get_text, is_object

MAX_RETRY_AFTER_SECONDS = 60.0
"""A longer Retry-After counts as this: an odd answer must not stop the controller for a day."""

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,64}/[\w.+-]{1,64}", re.ASCII)


class Scope(StrEnum):
    """What has to change before a failed call can succeed."""

    SERVER = "server"
    """The API server, or its connection: every call may fail."""
    NAMESPACE = "namespace"
    """The namespace, or the cluster's rules for it: the same calls in this namespace probably fail."""
    POD = "pod"
    """The object itself."""


class ErrorReason(StrEnum):
    """Why a call failed: the value that metrics, logs and Events carry."""

    QUOTA_EXCEEDED = "QuotaExceeded"
    NAMESPACE_TERMINATING = "NamespaceTerminating"
    REFUSED = "AdmissionRefused"
    FORBIDDEN = "Forbidden"
    UNAUTHORIZED = "Unauthorized"
    NOT_FOUND = "NotFound"
    ALREADY_EXISTS = "AlreadyExists"
    CONFLICT = "Conflict"
    EXPIRED = "Expired"
    INVALID = "Invalid"
    THROTTLED = "TooManyRequests"
    TIMED_OUT = "TimedOut"
    UNREACHABLE = "Unreachable"
    UNTRUSTED = "CertificateNotTrusted"
    TLS_FAILED = "TLSFailed"
    SERVER_ERROR = "ServerError"
    UNEXPECTED = "UnexpectedAnswer"

    @property
    def sentence(self) -> str:
        """The reason in plain words."""
        return _TRAITS[self].sentence

    @property
    def scope(self) -> Scope:
        return _TRAITS[self].scope

    @property
    def reported(self) -> bool:
        """Whether an Event reports it: the pod's owner can act on it. The other reasons pass by themselves or are the
        operator's to fix, and appear in logs and metrics only."""
        return _TRAITS[self].reported

    @property
    def server_unavailable(self) -> bool:
        """Whether the server is unreachable, overloaded or broken; the call itself may be valid."""
        return self in _SERVER_UNAVAILABLE


class _Traits(NamedTuple):
    sentence: str
    scope: Scope
    reported: bool


_TRAITS = {
    ErrorReason.QUOTA_EXCEEDED: _Traits(
        "a ResourceQuota of the namespace leaves no room for it", Scope.NAMESPACE, True
    ),
    ErrorReason.NAMESPACE_TERMINATING: _Traits("the namespace is being deleted", Scope.NAMESPACE, True),
    ErrorReason.REFUSED: _Traits("an admission policy or webhook of the cluster refuses it", Scope.NAMESPACE, True),
    ErrorReason.FORBIDDEN: _Traits("modelfit's service account lacks the permission (RBAC)", Scope.NAMESPACE, True),
    ErrorReason.UNAUTHORIZED: _Traits("the API server does not accept modelfit's credentials", Scope.SERVER, False),
    ErrorReason.NOT_FOUND: _Traits("the namespace or the API version does not exist", Scope.SERVER, False),
    ErrorReason.ALREADY_EXISTS: _Traits("an object of that name already exists", Scope.POD, False),
    ErrorReason.CONFLICT: _Traits("another client changed the object at the same time", Scope.SERVER, False),
    ErrorReason.EXPIRED: _Traits("the requested resource version is too old", Scope.SERVER, False),
    ErrorReason.INVALID: _Traits("the API server rejects it as invalid", Scope.POD, True),
    ErrorReason.THROTTLED: _Traits("the API server throttles requests", Scope.SERVER, False),
    ErrorReason.TIMED_OUT: _Traits("the API server did not respond in time", Scope.SERVER, False),
    ErrorReason.UNREACHABLE: _Traits("the API server cannot be reached", Scope.SERVER, False),
    ErrorReason.UNTRUSTED: _Traits("the API server's certificate is not trusted", Scope.SERVER, False),
    ErrorReason.TLS_FAILED: _Traits("the TLS handshake with the API server failed", Scope.SERVER, False),
    ErrorReason.SERVER_ERROR: _Traits("the API server failed", Scope.SERVER, False),
    ErrorReason.UNEXPECTED: _Traits("the response is not that of a Kubernetes API server", Scope.SERVER, False),
}

_SERVER_UNAVAILABLE = frozenset(
    {
        ErrorReason.THROTTLED,
        ErrorReason.TIMED_OUT,
        ErrorReason.UNREACHABLE,
        ErrorReason.TLS_FAILED,
        ErrorReason.SERVER_ERROR,
        ErrorReason.UNEXPECTED,
    }
)


class ApiError(Exception):
    """A failed call: its `reason`, `status` (HTTP; 0 without a response), `message` as the API server words it, and
    the response's `headers`."""

    def __init__(
        self, reason: ErrorReason, message: str, status: int = 0, headers: Mapping[str, str] | None = None
    ) -> None:
        self.reason = reason
        self.status = status
        self.message = truncate(message)
        self.headers = headers or {}
        super().__init__(f"{reason.sentence}: {self.message}")

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed in a moment, without anybody's action."""
        return self.reason.server_unavailable or self.reason is ErrorReason.CONFLICT

    @property
    def scope(self) -> Scope:
        """That of the reason. A webhook that the API server cannot call may be called for some namespaces only."""
        return Scope.NAMESPACE if "failed calling webhook" in self.message else self.reason.scope

    @property
    def retry_after(self) -> float | None:
        """Seconds of the Retry-After header, at most MAX_RETRY_AFTER_SECONDS; None without one. A date is ignored, as
        in client-go."""
        value = next((value for name, value in self.headers.items() if name.lower() == "retry-after"), "").strip()
        # `float` of 400 digits is infinite; `int` raises for thousands.
        return min(float(value), MAX_RETRY_AFTER_SECONDS) if value.isascii() and value.isdigit() else None


class _Response(NamedTuple):
    status: int
    reason: str
    causes: frozenset[str]
    message: str


_RESPONSES: tuple[tuple[ErrorReason, Callable[[_Response], bool]], ...] = (
    # NamespaceLifecycle, apiserver/pkg/admission/plugin/namespace/lifecycle.
    (ErrorReason.NAMESPACE_TERMINATING, lambda response: "NamespaceTerminating" in response.causes),
    # apiserver/pkg/admission/plugin/webhook/errors: a webhook chooses its own code, so only the words identify it.
    (
        ErrorReason.REFUSED,
        lambda response: "denied the request" in response.message or "denied request" in response.message,
    ),
    # apiserver/pkg/admission/plugin/resourcequota; the claim quota has its own words.
    (ErrorReason.QUOTA_EXCEEDED, lambda response: response.status == 403 and "exceeded quota" in response.message),
    (ErrorReason.FORBIDDEN, lambda response: response.status == 403),
    (ErrorReason.UNAUTHORIZED, lambda response: response.status == 401),
    (ErrorReason.NOT_FOUND, lambda response: response.status == 404),
    (ErrorReason.ALREADY_EXISTS, lambda response: response.status == 409 and response.reason == "AlreadyExists"),
    (ErrorReason.CONFLICT, lambda response: response.status == 409),
    (ErrorReason.EXPIRED, lambda response: response.status == 410),
    (ErrorReason.INVALID, lambda response: response.status in (400, 422)),
    (ErrorReason.THROTTLED, lambda response: response.status == 429),
    (ErrorReason.TIMED_OUT, lambda response: response.status in (408, 504)),
    (ErrorReason.SERVER_ERROR, lambda response: response.status >= 500),
)
"""The first match applies."""

_EXCEPTIONS: tuple[tuple[ErrorReason, str, tuple[type[BaseException], ...]], ...] = (
    (ErrorReason.UNTRUSTED, "", (ssl.SSLCertVerificationError, CertificateError)),
    (ErrorReason.TLS_FAILED, "", (ssl.SSLError, urllib3.exceptions.SSLError, ApiException)),
    (ErrorReason.UNREACHABLE, "its name does not resolve", (socket.gaierror, urllib3.exceptions.NameResolutionError)),
    (ErrorReason.UNREACHABLE, "the connection was refused", (ConnectionRefusedError,)),
    (ErrorReason.UNREACHABLE, "the connection was closed", (ConnectionError,)),
    (
        ErrorReason.UNREACHABLE,
        "the response is incomplete",
        (http.client.IncompleteRead, urllib3.exceptions.IncompleteRead),
    ),
    # For backward compatibility urllib3 derives it from ConnectTimeoutError, so it is matched before that.
    (ErrorReason.UNREACHABLE, "", (urllib3.exceptions.NewConnectionError,)),
    (ErrorReason.TIMED_OUT, "no connection", (urllib3.exceptions.ConnectTimeoutError,)),
    (ErrorReason.TIMED_OUT, "no response", (urllib3.exceptions.TimeoutError, TimeoutError)),
    (ErrorReason.UNREACHABLE, "", (urllib3.exceptions.HTTPError, OSError)),
)
"""Exceptions of the transport: the first row applies that names the exception or one of its causes. The words of the
innermost cause stand in for an empty description."""


def from_response(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> ApiError:
    """The error for an HTTP response with a code of 300 or above."""
    return _classify(_parse_response(status, body, headers or {}), headers)


def decode(body: bytes) -> object:
    """The JSON document; None if it is not one, or is nested too deeply."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def describe_body(body: bytes, headers: Mapping[str, str]) -> str:
    """Length and media type, for the log: the content may be anything."""
    media_type = headers.get("Content-Type", "").partition(";")[0].strip()
    return f"{len(body)} bytes of {media_type if _MEDIA_TYPE.fullmatch(media_type) else 'unknown type'}"


def _classify(response: "_Response", headers: Mapping[str, str] | None) -> ApiError:
    reason = next((reason for reason, matches in _RESPONSES if matches(response)), ErrorReason.UNEXPECTED)
    return ApiError(reason, response.message, response.status, headers)


def from_exception(error: Exception, server: str = "") -> ApiError:
    """The error for an exception of the client or its transport while calling `server`."""
    if isinstance(error, ApiError):
        return error
    # The status of an error event in a watch is whatever the event contains.
    if isinstance(error, ApiException) and isinstance(error.status, int) and error.status:
        return _classify(_Response(error.status, "", frozenset(), f"HTTP {error.status}: {error.reason}"), None)
    causes = list(_cause_chain(error))
    prefix = f"{server}: " if server else ""
    for reason, description, types in _EXCEPTIONS:
        if any(isinstance(cause, types) for cause in causes):
            return ApiError(reason, prefix + (description or _describe(causes[-1])))
    return ApiError(ErrorReason.UNEXPECTED, prefix + _describe(error))


def _cause_chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and the exceptions that it wraps, outermost first."""
    yield error
    wrapped = [error.__cause__, *error.args]
    if isinstance(error, ApiException):
        # An ApiException without a status wraps a TLS error and keeps only its text.
        wrapped.append(error.__context__)
    for cause in wrapped:
        if isinstance(cause, BaseException):
            yield from _cause_chain(cause)


def _describe(error: BaseException) -> str:
    """The text of an exception on one line, without OpenSSL's source location."""
    if isinstance(error, ssl.SSLError):
        # Only errors that OpenSSL itself raised have these attributes.
        verify_message, reason = getattr(error, "verify_message", None), getattr(error, "reason", None)
        return str(verify_message or (reason or str(error)).replace("_", " ").lower())
    text = error.strerror if isinstance(error, OSError) and error.strerror else f"{type(error).__name__}: {error}"
    return " ".join(text.split())


def _parse_response(status: int, body: bytes, headers: Mapping[str, str]) -> _Response:
    document = decode(body)
    if not is_object(document) or document.get("kind") != "Status":
        return _Response(status, "", frozenset(), f"HTTP {status}: {describe_body(body, headers)}")
    causes = frozenset(get_text(cause, "reason") or "" for cause in get_list(document, "details", "causes"))
    return _Response(status, get_text(document, "reason") or "", causes, get_text(document, "message") or "")
