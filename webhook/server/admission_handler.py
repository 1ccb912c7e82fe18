"""Handles admission requests: decode the body, decide in the core, encode the response, count and log.

Errors have two channels. A request that is not a review gets an HTTP 4xx with `{"error": …}`. Every review gets a 200
with its uid, whatever the decision.
"""

import logging
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
from webhook.errors import MalformedCall
from webhook.observe import admission_metrics, logs
from webhook.server.body_reader import BodyReader
from webhook.server.rejections import JSON, HttpResponse, reject, reject_method

Decide: TypeAlias = Callable[[Review, AdmissionConfig], Decision]

_MALFORMED_OBJECT = "the object in the review does not match its kind"
"""Logged in place of a message that may quote the object."""

_log = logging.getLogger("modelfit.admission")


class AdmissionHandler:
    """Handles the requests of one webhook, `mutate` or `validate`."""

    def __init__(self, webhook: str, decide: Decide, config: AdmissionConfig, bodies: BodyReader) -> None:
        self._webhook = webhook
        self._decide = decide
        self._config = config
        self._bodies = bodies

    def handle(self, environ: Mapping[str, Any]) -> HttpResponse:
        """The response to a request, given its WSGI environment."""
        if environ["REQUEST_METHOD"] != "POST":
            return reject_method(environ, "POST")
        try:
            document = self._read_document(environ)
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
        except Exception:
            return self._internal_error(parsed.operation if parsed else "", _find_uid(document))
        seconds = time.perf_counter() - started
        admission_metrics.count_review(self._webhook, parsed.operation, decision.allowed, decision.reason, seconds)
        if _log.isEnabledFor(logging.INFO):
            logs.info(_log, "review", self._log_fields(parsed, decision, seconds))
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

    def _log_fields(self, parsed: Review, decision: Decision, seconds: float) -> dict[str, object]:
        """Names only, no content of the object. The message is left out because it may quote the annotation."""
        return {
            "uid": parsed.uid,
            "webhook": self._webhook,
            "operation": parsed.operation,
            "kind": parsed.kind,
            "namespace": parsed.namespace,
            "name": _object_name(parsed),
            "allowed": decision.allowed,
            "reason": decision.reason.value,
            "claim": decision.claim,
            "dry_run": parsed.dry_run,
            "duration_ms": round(seconds * 1000, 3),
        }

    def _internal_error(self, operation: str, uid: str) -> HttpResponse:
        """A denial with the review's uid. Without the uid the API server would only report an invalid response."""
        _log.exception("admission decision failed", extra={"fields": {"uid": uid, "webhook": self._webhook}})
        admission_metrics.count_internal_error(self._webhook, operation)
        status = review.build_status(
            "InternalError", 500, "modelfit failed to decide; its log has a line with this uid"
        )
        response = {"uid": uid, "allowed": False, "status": status}
        body = {"apiVersion": review.API_VERSION, "kind": review.KIND, "response": response}
        return HttpResponse(200, orjson.dumps(body))


def _find_uid(document: object) -> str:
    """The review's uid, even if the rest of the review is malformed; empty if there is none."""
    return json_tree.get_text(document, "request", "uid") or ""


def _object_name(parsed: Review) -> object:
    """The object's name, or its generateName if it has no name yet."""
    metadata = json_tree.get_object(parsed.object or parsed.old_object, "metadata")
    return metadata.get("name") or metadata.get("generateName")
