"""What a failed call to the API server means: one table, from which everything else follows.

The API server answers with a Status object: an HTTP code, a `reason`, and causes. Its `reason` is often too coarse (a
quota and a missing permission are both Forbidden), so causes and, last, words of the message decide.
"""

import http.client
import json
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

import urllib3.exceptions
from kubernetes.client.exceptions import ApiException
from kubernetes.utils import retry_after_seconds
from urllib3.util.ssl_match_hostname import CertificateError

from webhook.errors import truncate


class ErrorReason(StrEnum):
    """The ways in which a call fails. The value is what metrics, logs and Events carry."""

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
        """The failure in plain words."""
        return _MEANINGS[self].sentence

    @property
    def retried(self) -> bool:
        """Whether the same call may succeed later."""
        return _MEANINGS[self].retried

    @property
    def reported(self) -> bool:
        """Whether the pod's owner can do something about it, and so is told by an Event. What passes by itself, or is
        the operator's to mend, is in logs and metrics only."""
        return _MEANINGS[self].reported

    @property
    def transient(self) -> bool:
        """Whether it says nothing about the call itself: the server is away, busy or broken."""
        return self in _TRANSIENT


class _Meaning(NamedTuple):
    sentence: str
    retried: bool
    reported: bool


_MEANINGS = {
    ErrorReason.QUOTA_EXCEEDED: _Meaning("a ResourceQuota of the namespace leaves no room for it", True, True),
    ErrorReason.NAMESPACE_TERMINATING: _Meaning("the namespace is being deleted", False, True),
    ErrorReason.REFUSED: _Meaning("an admission policy or webhook of the cluster refuses it", True, True),
    ErrorReason.FORBIDDEN: _Meaning("modelfit's service account lacks the permission (RBAC)", True, True),
    ErrorReason.UNAUTHORIZED: _Meaning("the API server does not accept modelfit's credentials", True, False),
    ErrorReason.NOT_FOUND: _Meaning("the namespace, or the version of the API, is not there", True, False),
    ErrorReason.ALREADY_EXISTS: _Meaning("an object of that name exists already", True, False),
    ErrorReason.CONFLICT: _Meaning("somebody else changed it at the same time", True, False),
    ErrorReason.EXPIRED: _Meaning("the resource version asked for is too old", True, False),
    ErrorReason.INVALID: _Meaning("the API server finds it invalid", True, True),
    ErrorReason.THROTTLED: _Meaning("the API server asks to wait", True, False),
    ErrorReason.TIMED_OUT: _Meaning("the API server did not answer in time", True, False),
    ErrorReason.UNREACHABLE: _Meaning("the API server cannot be reached", True, False),
    ErrorReason.UNTRUSTED: _Meaning("the API server's certificate is not trusted", True, False),
    ErrorReason.TLS_FAILED: _Meaning("there is no TLS with the API server", True, False),
    ErrorReason.SERVER_ERROR: _Meaning("the API server failed", True, False),
    ErrorReason.UNEXPECTED: _Meaning("the answer is not one of a Kubernetes API server", True, False),
}

_TRANSIENT = frozenset(
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
    """A call that failed: `kind`, `status` (HTTP; 0 where there was no answer), `message` as the API server words it,
    and `headers` of the answer."""

    def __init__(
        self, kind: ErrorReason, message: str, status: int = 0, headers: Mapping[str, str] | None = None
    ) -> None:
        self.reason = kind
        self.status = status
        self.message = truncate(message)
        self.headers = headers or {}
        super().__init__(f"{kind.sentence}: {self.message}")

    @property
    def is_transient(self) -> bool:
        """Whether the same call may go well in a moment, with nobody mending anything."""
        return self.reason.transient or self.reason is ErrorReason.CONFLICT

    @property
    def retry_after(self) -> float | None:
        """Seconds that the API server asks to wait, if it does."""
        seconds: float | None = retry_after_seconds(self)
        return seconds


class _Answer(NamedTuple):
    status: int
    reason: str
    causes: frozenset[str]
    message: str


_ANSWERS: tuple[tuple[ErrorReason, Callable[[_Answer], bool]], ...] = (
    # NamespaceLifecycle, apiserver/pkg/admission/plugin/namespace/lifecycle.
    (ErrorReason.NAMESPACE_TERMINATING, lambda answer: "NamespaceTerminating" in answer.causes),
    # apiserver/pkg/admission/plugin/webhook/errors: a webhook chooses its own code, so words are all there is.
    (ErrorReason.REFUSED, lambda answer: "denied the request" in answer.message or "denied request" in answer.message),
    # apiserver/pkg/admission/plugin/resourcequota; the claim quota has its own words.
    (ErrorReason.QUOTA_EXCEEDED, lambda answer: answer.status == 403 and "exceeded quota" in answer.message),
    (ErrorReason.FORBIDDEN, lambda answer: answer.status == 403),
    (ErrorReason.UNAUTHORIZED, lambda answer: answer.status == 401),
    (ErrorReason.NOT_FOUND, lambda answer: answer.status == 404),
    (ErrorReason.ALREADY_EXISTS, lambda answer: answer.status == 409 and answer.reason == "AlreadyExists"),
    (ErrorReason.CONFLICT, lambda answer: answer.status == 409),
    (ErrorReason.EXPIRED, lambda answer: answer.status == 410),
    (ErrorReason.INVALID, lambda answer: answer.status in (400, 422)),
    (ErrorReason.THROTTLED, lambda answer: answer.status == 429),
    (ErrorReason.TIMED_OUT, lambda answer: answer.status in (408, 504)),
    (ErrorReason.SERVER_ERROR, lambda answer: answer.status >= 500),
)
"""First match wins."""

_TRANSPORT: tuple[tuple[ErrorReason, str, tuple[type[BaseException], ...]], ...] = (
    (ErrorReason.UNTRUSTED, "", (ssl.SSLCertVerificationError, CertificateError)),
    (ErrorReason.TLS_FAILED, "", (ssl.SSLError, urllib3.exceptions.SSLError, ApiException)),
    (ErrorReason.UNREACHABLE, "its name does not resolve", (socket.gaierror, urllib3.exceptions.NameResolutionError)),
    (ErrorReason.UNREACHABLE, "the connection was refused", (ConnectionRefusedError,)),
    (ErrorReason.UNREACHABLE, "the connection was broken off", (ConnectionError,)),
    (ErrorReason.UNREACHABLE, "the answer breaks off", (http.client.IncompleteRead, urllib3.exceptions.IncompleteRead)),
    # In urllib3 one of the timeouts, for the sake of programs that were written before it was its own kind.
    (ErrorReason.UNREACHABLE, "", (urllib3.exceptions.NewConnectionError,)),
    (ErrorReason.TIMED_OUT, "no connection", (urllib3.exceptions.ConnectTimeoutError,)),
    (ErrorReason.TIMED_OUT, "no answer", (urllib3.exceptions.TimeoutError, TimeoutError)),
    (ErrorReason.UNREACHABLE, "", (urllib3.exceptions.HTTPError, OSError)),
)
"""What the transport raises: the first row that names the exception, or one that it was made from. Where a row has no
words, those of the innermost are used."""


def from_response(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> ApiError:
    """The failure that an HTTP answer with a code of 300 or above is."""
    answer = _answer(status, body)
    kind = next((kind for kind, applies in _ANSWERS if applies(answer)), ErrorReason.UNEXPECTED)
    return ApiError(kind, answer.message, status, headers)


def from_exception(error: Exception, server: str = "") -> ApiError:
    """The failure that an exception of the client or of its transport is; `server` is whom it was to reach."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, ApiException) and error.status:
        text = error.body or error.reason or ""
        return from_response(error.status, text.encode(), error.headers)
    origins = list(_origins(error))
    where = f"{server}: " if server else ""
    for kind, words, causes in _TRANSPORT:
        if any(isinstance(origin, causes) for origin in origins):
            return ApiError(kind, where + (words or _words(origins[-1])))
    return ApiError(ErrorReason.UNEXPECTED, where + _words(error))


def _origins(error: BaseException) -> Iterator[BaseException]:
    """The exception, and those that it says it was made from, the nearest first."""
    yield error
    made_from = [error.__cause__, *error.args]
    if isinstance(error, ApiException):
        # Without a status it is what the client makes of an error of TLS, and keeps the text of that only.
        made_from.append(error.__context__)
    for each in made_from:
        if isinstance(each, BaseException):
            yield from _origins(each)


def _words(error: BaseException) -> str:
    """What an exception says, without where in OpenSSL it says it."""
    if isinstance(error, ssl.SSLError):
        # Members that only those have that OpenSSL itself raised.
        verdict, reason = getattr(error, "verify_message", None), getattr(error, "reason", None)
        return str(verdict or (reason or str(error)).replace("_", " ").lower())
    text = error.strerror if isinstance(error, OSError) and error.strerror else f"{type(error).__name__}: {error}"
    return " ".join(text.split())


def _answer(status: int, body: bytes) -> _Answer:
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("kind") != "Status":
        return _Answer(status, "", frozenset(), f"HTTP {status}: {body[:512].decode(errors='replace')}")
    details = document.get("details") or {}
    causes = frozenset(str(cause.get("reason")) for cause in details.get("causes") or [])
    return _Answer(status, str(document.get("reason", "")), causes, str(document.get("message", "")))
