"""The Flask application: calls in, answers out; what is decided is decided in the core.

Two channels. A call that is no review gets an HTTP 4xx with `{"error": …}`; every review gets a 200 with its uid.
"""

import logging
import os
import time
from collections.abc import Callable

import orjson
from flask import Flask, Response, request
from werkzeug.exceptions import (
    BadRequest,
    HTTPException,
    MethodNotAllowed,
    RequestEntityTooLarge,
    UnsupportedMediaType,
)

from webhook.core import answers, decide, review
from webhook.core.decide import Decision
from webhook.core.policy import Policy
from webhook.core.review import JsonObject, Review
from webhook.errors import MalformedCall
from webhook.observe import metrics

Decide = Callable[[Review, Policy], Decision]

JSON = "application/json"

_log = logging.getLogger("modelfit.admission")


def create_app(policy: Policy, max_review_bytes: int, is_ready: Callable[[], bool]) -> Flask:
    """The application. `max_review_bytes` bounds a call's body; `is_ready` is asked by /readyz."""
    app = Flask("modelfit", static_folder=None)

    def add(path: str, name: str, view: Callable[[], Response], method: str) -> None:
        app.add_url_rule(path, name, view, methods=[method], provide_automatic_options=False)

    def answer(webhook: str, step: Decide) -> Response:
        return _answer(webhook, step, policy, _document(max_review_bytes))

    add("/mutate", "mutate", lambda: answer("mutate", decide.mutate), "POST")
    add("/validate", "validate", lambda: answer("validate", decide.validate), "POST")
    add("/healthz", "healthz", lambda: _text("ok"), "GET")
    add("/readyz", "readyz", lambda: _text("ok") if is_ready() else _text("draining", 503), "GET")
    add("/metrics", "metrics", _metrics, "GET")
    app.register_error_handler(HTTPException, _http_error)
    return app


def _answer(webhook: str, step: Decide, policy: Policy, document: object) -> Response:
    started = time.perf_counter()
    asked: Review | None = None
    try:
        asked = review.parse(document)
        decision = step(asked, policy)
        body = orjson.dumps(answers.envelope(asked.uid, decision))
    except MalformedCall as error:
        return _refuse(error.status, str(error), _uid(document))
    except Exception:
        return _internal_error(webhook, asked.operation if asked else "", _uid(document))
    seconds = time.perf_counter() - started
    metrics.reviewed(webhook, asked.operation, decision.allowed, decision.reason, seconds)
    if _log.isEnabledFor(logging.INFO):
        _log.info("review", extra={"fields": _line(webhook, asked, decision, seconds)})
    return Response(body, mimetype=JSON)


def _document(max_bytes: int) -> object:
    """The decoded body. Raises HTTPException where there is none to decode."""
    environ = request.environ
    if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != JSON:
        raise UnsupportedMediaType(f"Content-Type: want {JSON}")
    if environ.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
        raise UnsupportedMediaType("Content-Encoding: want none")
    if (request.content_length or 0) > max_bytes:
        raise _too_large(max_bytes)
    # Past werkzeug's stream: the server bounds it already, and it costs as much as decoding what it carries.
    body = environ["wsgi.input"].read(max_bytes + 1)
    if len(body) > max_bytes:
        raise _too_large(max_bytes)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error.msg} at byte {error.pos}") from None


def _too_large(max_bytes: int) -> HTTPException:
    return RequestEntityTooLarge(f"the body is larger than {max_bytes >> 20} MiB (setting maxReviewMebibytes)")


def _uid(document: object) -> str:
    """The review's uid, also where the rest of it cannot be used; empty where there is none."""
    asked = document.get("request") if isinstance(document, dict) else None
    uid = asked.get("uid") if isinstance(asked, dict) else None
    return uid if isinstance(uid, str) else ""


def _line(webhook: str, asked: Review, decision: Decision, seconds: float) -> dict[str, object]:
    """What is logged of a decision: names, never content; neither the message, which quotes the annotation."""
    return {
        "uid": asked.uid,
        "webhook": webhook,
        "operation": asked.operation,
        "namespace": asked.namespace,
        "name": _name(asked.object or asked.old_object),
        "allowed": decision.allowed,
        "reason": decision.reason.value,
        "claim": decision.claim,
        "dry_run": asked.dry_run,
        "duration_ms": round(seconds * 1000, 3),
    }


def _name(subject: JsonObject | None) -> object:
    """The object's name, or the prefix of one that has none yet."""
    metadata = subject.get("metadata") if subject else None
    return metadata.get("name") or metadata.get("generateName") if isinstance(metadata, dict) else None


def _internal_error(webhook: str, operation: str, uid: str) -> Response:
    """A fault of ours must still carry the review's uid, or the user reads only "invalid webhook response"."""
    _log.exception("could not decide", extra={"fields": {"uid": uid, "webhook": webhook}})
    metrics.failed(webhook, operation)
    status = answers.status("InternalError", 500, "modelfit failed to decide; its log has a line with the review's uid")
    response = {"uid": uid, "allowed": False, "status": status}
    return _json({"apiVersion": review.API_VERSION, "kind": review.KIND, "response": response})


def _metrics() -> Response:
    body = metrics.exposition(request.args.getlist("name[]"), "PROMETHEUS_MULTIPROC_DIR" in os.environ)
    return Response(body, content_type=metrics.CONTENT_TYPE)


def _http_error(error: HTTPException) -> Response:
    response = _refuse(error.code or 500, error.description or error.name)
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return response


def _refuse(status: int, message: str, uid: str = "") -> Response:
    metrics.malformed(status)
    _log.debug("refused a call", extra={"fields": {"status": status, "uid": uid}})
    return _json({"error": message} | ({"uid": uid} if uid else {}), status)


def _json(document: object, status: int = 200) -> Response:
    return Response(orjson.dumps(document), status, mimetype=JSON)


def _text(text: str, status: int = 200) -> Response:
    return Response(f"{text}\n", status, mimetype="text/plain")
