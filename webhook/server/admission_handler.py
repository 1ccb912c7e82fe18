"""Handles admission requests: decode the body, decide in the core, encode the response, count and log.

Errors have two channels. A request that is not a review gets an HTTP 4xx with `{"error": …}`. Every review gets a 200
with its uid, whatever the decision.
"""

import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import orjson
from gunicorn.http.errors import ParseException

from webhook import json_tree
from webhook.core.admission import review
from webhook.core.admission.decision import Decision
from webhook.core.admission.review import Review
from webhook.core.admission_config import AdmissionConfig
from webhook.dns_names import MAX_LABEL, MAX_SUBDOMAIN
from webhook.errors import Denied, FieldError, MalformedCall
from webhook.observe import admission_metrics, logs
from webhook.observe.log_rate import LogRate
from webhook.observe.log_throttle import LogThrottle
from webhook.reasons import Reason
from webhook.server.body_reader import BodyReader, BodyTooLarge
from webhook.server.rejections import JSON, HttpResponse, reject, reject_method

Decide: TypeAlias = Callable[[Review, AdmissionConfig], Decision]

_MALFORMED_OBJECT = "the object in the review does not match its kind"
"""Logged in place of a message that may quote the object."""

_HEAD = re.compile(
    rb'\{"kind":"AdmissionReview","apiVersion":"admission\.k8s\.io/v1","request":\{"uid":"([-0-9a-f]{36})"'
)
"""The beginning of every review that an API server sends."""

_log = logging.getLogger("modelfit.admission")


class AdmissionHandler:
    """Handles the requests of one webhook, `mutate` or `validate`."""

    def __init__(self, webhook: str, decide: Decide, config: AdmissionConfig, bodies: BodyReader) -> None:
        self._webhook = webhook
        self._decide = decide
        self._config = config
        self._bodies = bodies
        self._log_rate = LogRate()
        self._error_throttle = LogThrottle()

    def handle(self, environ: Mapping[str, Any]) -> HttpResponse:
        """The response to a request, given its WSGI environment."""
        if environ["REQUEST_METHOD"] != "POST":
            return reject_method(environ, "POST")
        try:
            document = self._read_document(environ)
        except BodyTooLarge as error:
            head = _HEAD.match(error.head)
            if head is None:
                return reject(environ, error.status, str(error))
            return self._deny_oversized(head[1].decode(), str(error))
        except MalformedCall as error:
            return reject(environ, error.status, str(error))
        started = time.perf_counter()
        parsed: Review | None = None
        try:
            parsed = review.parse(document)
            decision = self._decide(parsed, self._config)
            body = orjson.dumps(review.build_response(parsed.uid, decision))
        except MalformedCall as error:
            log_message = str(error) if parsed is None else _MALFORMED_OBJECT
            return reject(environ, error.status, str(error), _find_uid(document), log_message)
        except Exception as error:
            return self._internal_error(error, parsed.operation if parsed else "", _find_uid(document))
        seconds = time.perf_counter() - started
        admission_metrics.count_review(self._webhook, parsed.operation, decision.allowed, decision.reason, seconds)
        if _log.isEnabledFor(logging.INFO) and (suppressed := self._log_rate.allow()) is not None:
            logs.info(_log, "review", self._log_fields(parsed, decision, seconds, suppressed))
        return HttpResponse(200, body)

    def _read_document(self, environ: Mapping[str, Any]) -> object:
        """The decoded body. Raises MalformedCall."""
        if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != JSON:
            raise MalformedCall(f"Content-Type: want {JSON}", 415)
        if environ.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
            raise MalformedCall("Content-Encoding: want none", 415)
        length = environ.get("CONTENT_LENGTH", "")
        try:
            return self._bodies.read_json(environ["wsgi.input"], int(length) if length.isdecimal() else None)
        except TimeoutError:
            raise MalformedCall("the body did not arrive in time", 408) from None
        except (OSError, ParseException):
            raise MalformedCall("the body is incomplete or its framing is invalid") from None

    def _deny_oversized(self, uid: str, message: str) -> HttpResponse:
        """A denial of a review that is too large to decode. No object that etcd can store has such a review. For a 413
        the API server would only report a failed call."""
        error = FieldError("request", message, "an object that the cluster can store", "make the object smaller")
        decision = Decision.deny(Denied(Reason.POD_TOO_LARGE, [error]))
        admission_metrics.count_review(self._webhook, "", False, decision.reason, 0.0)
        if _log.isEnabledFor(logging.INFO) and (suppressed := self._log_rate.allow()) is not None:
            fields = {"uid": uid, "webhook": self._webhook, "allowed": False, "reason": decision.reason.value}
            logs.info(_log, "review", fields | ({"suppressed": suppressed} if suppressed else {}))
        return HttpResponse(200, orjson.dumps(review.build_response(uid, decision)))

    def _log_fields(self, parsed: Review, decision: Decision, seconds: float, suppressed: int) -> dict[str, object]:
        """Names only, no content of the object. The message is left out because it may quote the annotation.
        `suppressed` is the number of reviews without a line since the previous line."""
        fields: dict[str, object] = {
            "uid": parsed.uid,
            "webhook": self._webhook,
            "operation": parsed.operation[:MAX_LABEL],
            "kind": parsed.kind[:MAX_LABEL],
            "namespace": parsed.namespace[:MAX_LABEL],
            "name": _object_name(parsed),
            "allowed": decision.allowed,
            "reason": decision.reason.value,
            "claim": decision.claim,
            "dry_run": parsed.dry_run,
            "duration_ms": round(seconds * 1000, 3),
        }
        if suppressed:
            fields["suppressed"] = suppressed
        return fields

    def _internal_error(self, error: Exception, operation: str, uid: str) -> HttpResponse:
        """A denial with the review's uid. Without the uid the API server would only report an invalid response."""
        if count := self._error_throttle.allow(type(error).__name__):
            fields = {"uid": uid, "webhook": self._webhook, "count": count}
            _log.exception("admission decision failed", extra={"fields": fields})
        admission_metrics.count_internal_error(self._webhook, operation)
        status = review.build_status("InternalError", 500, "modelfit failed to decide; see the webhook's log")
        response = {"uid": uid, "allowed": False, "status": status}
        body = {"apiVersion": review.API_VERSION, "kind": review.KIND, "response": response}
        return HttpResponse(200, orjson.dumps(body))


def _find_uid(document: object) -> str:
    """The review's uid, even if the rest of the review is malformed; empty if there is none."""
    return json_tree.get_text(document, "request", "uid") or ""


def _object_name(parsed: Review) -> str | None:
    """The object's name, or its generateName if it has no name yet. None if it is not a string."""
    metadata = json_tree.get_object(parsed.object or parsed.old_object, "metadata")
    name = metadata.get("name") or metadata.get("generateName")
    return name[:MAX_SUBDOMAIN] if isinstance(name, str) else None
