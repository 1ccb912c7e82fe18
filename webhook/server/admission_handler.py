"""From a call's body to the answer's: decode, ask the core, encode, count, log.

Two channels. A call that is no review gets an HTTP 4xx with `{"error": …}`; every review gets a 200 with its uid.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import orjson
from gunicorn.http.errors import ParseException

from webhook.core.admission import responses, review
from webhook.core.admission.decide import Decision
from webhook.core.admission.review import JsonObject, Review
from webhook.core.admission_config import AdmissionConfig
from webhook.errors import MAX_QUOTED, MalformedCall
from webhook.observe import admission_metrics, logs
from webhook.observe.log_throttle import LogThrottle
from webhook.server.body_reader import BodyReader

Decide: TypeAlias = Callable[[Review, AdmissionConfig], Decision]

JSON = "application/json"

_MISSHAPEN = "the object in the review has not the shape of its kind"
"""Said in the log in place of a message that may quote the object."""

_log = logging.getLogger("modelfit.admission")
_refusals = LogThrottle()


class Answer(NamedTuple):
    """HTTP status code and JSON body."""

    status: int
    body: bytes


class AdmissionHandler:
    """Answers the calls of one webhook, `mutate` or `validate`, by `step`."""

    def __init__(self, webhook: str, step: Decide, config: AdmissionConfig, bodies: BodyReader) -> None:
        self._webhook = webhook
        self._step = step
        self._policy = config
        self._bodies = bodies

    def answer(self, environ: Mapping[str, Any]) -> Answer:
        """The answer to a POST, given its WSGI environment."""
        try:
            document = self._document(environ)
        except MalformedCall as error:
            return refuse(environ, error.status, str(error))
        started = time.perf_counter()
        asked: Review | None = None
        try:
            asked = review.parse(document)
            decision = self._step(asked, self._policy)
            body = orjson.dumps(responses.build(asked.uid, decision))
        except MalformedCall as error:
            why = str(error) if asked is None else _MISSHAPEN
            return refuse(environ, error.status, str(error), _uid(document), why=why)
        except Exception:
            return self._internal_error(asked.operation if asked else "", _uid(document))
        seconds = time.perf_counter() - started
        admission_metrics.reviewed(self._webhook, asked.operation, decision.allowed, decision.reason, seconds)
        if _log.isEnabledFor(logging.INFO):
            logs.info(_log, "review", self._line(asked, decision, seconds))
        return Answer(200, body)

    def _document(self, environ: Mapping[str, Any]) -> object:
        """The decoded body. Raises MalformedCall where there is none to decode."""
        if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != JSON:
            raise MalformedCall(f"Content-Type: want {JSON}", 415)
        if environ.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
            raise MalformedCall("Content-Encoding: want none", 415)
        length = environ.get("CONTENT_LENGTH", "")
        try:
            return self._bodies.document(environ["wsgi.input"], int(length) if length.isdecimal() else None)
        except TimeoutError:
            raise MalformedCall("the body did not arrive in time", 408) from None
        except (OSError, ParseException):
            raise MalformedCall("the body did not arrive whole") from None

    def _line(self, asked: Review, decision: Decision, seconds: float) -> dict[str, object]:
        """What is logged of a decision: names, never content; nor the message, which may quote the annotation."""
        return {
            "uid": asked.uid,
            "webhook": self._webhook,
            "operation": asked.operation,
            "kind": asked.kind,
            "namespace": asked.namespace,
            "name": _name(asked.object or asked.old_object),
            "allowed": decision.allowed,
            "reason": decision.reason.value,
            "claim": decision.claim,
            "dry_run": asked.dry_run,
            "duration_ms": round(seconds * 1000, 3),
        }

    def _internal_error(self, operation: str, uid: str) -> Answer:
        """A fault of ours must still carry the review's uid, or the user reads only "invalid webhook response"."""
        _log.exception("could not decide", extra={"fields": {"uid": uid, "webhook": self._webhook}})
        admission_metrics.failed(self._webhook, operation)
        status = responses.status("InternalError", 500, "modelfit failed to decide; its log has a line with this uid")
        response = {"uid": uid, "allowed": False, "status": status}
        return Answer(200, orjson.dumps({"apiVersion": review.API_VERSION, "kind": review.KIND, "response": response}))


def refuse(environ: Mapping[str, Any], status: int, message: str, uid: str = "", why: str | None = None) -> Answer:
    """The answer to a call that is no review; counted. What is misconfigured calls again and again, so the log has a
    line now and then, with the number of `calls` since the last. It has `why`, where the message is not for a log."""
    admission_metrics.malformed(status)
    calls = _refusals.due(status)
    if calls:
        fields = {
            "status": status,
            "why": message if why is None else why,
            "method": environ["REQUEST_METHOD"][:MAX_QUOTED],
            "path": environ["PATH_INFO"][:MAX_QUOTED],
            "peer": environ.get("REMOTE_ADDR", ""),
            "calls": calls,
        }
        _log.warning("refused a call", extra={"fields": fields})
    return Answer(status, orjson.dumps({"error": message} | ({"uid": uid} if uid else {})))


def _uid(document: object) -> str:
    """The review's uid, also where the rest of it cannot be used; empty where there is none."""
    asked = document.get("request") if isinstance(document, dict) else None
    uid = asked.get("uid") if isinstance(asked, dict) else None
    return uid if isinstance(uid, str) else ""


def _name(subject: JsonObject | None) -> object:
    """The object's name, or the prefix of one that has none yet."""
    metadata = subject.get("metadata") if subject else None
    return metadata.get("name") or metadata.get("generateName") if isinstance(metadata, dict) else None
