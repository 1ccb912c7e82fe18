"""The Flask application, and the short way past it for reviews."""

import os
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound

from webhook.core.admission import decide
from webhook.core.admission_config import AdmissionConfig
from webhook.errors import quote
from webhook.observe import admission_metrics
from webhook.server.admission_handler import JSON, AdmissionHandler, Answer, refuse
from webhook.server.body_reader import BodyReader
from webhook.server.wsgi import Application, Headers


def create_app(config: AdmissionConfig, max_review_bytes: int, is_ready: Callable[[], bool]) -> Flask:
    """The application. `max_review_bytes` bounds a call's body; `is_ready` is asked by /readyz."""
    app = Flask("modelfit", static_folder=None)

    def add(path: str, view: Callable[[], Response], method: str) -> None:
        app.add_url_rule(path, path[1:], view, methods=[method], provide_automatic_options=False)

    bodies = BodyReader(max_review_bytes)
    mutating = AdmissionHandler("mutate", decide.mutate, config, bodies)
    validating = AdmissionHandler("validate", decide.validate, config, bodies)
    add("/mutate", lambda: _response(mutating.answer(request.environ)), "POST")
    add("/validate", lambda: _response(validating.answer(request.environ)), "POST")
    add("/healthz", lambda: _text("ok"), "GET")
    add("/readyz", lambda: _text("ok") if is_ready() else _text("draining", 503), "GET")
    add("/metrics", _metrics, "GET")
    app.register_error_handler(HTTPException, _http_error)
    shortcut = Shortcut(app.wsgi_app, {"/mutate": mutating, "/validate": validating})
    app.wsgi_app = shortcut  # type: ignore[method-assign]
    return app


class Shortcut:
    """WSGI middleware that answers reviews before Flask does: the same answers, without a request context, a routing
    and five signals for each, which take as long as the decision. All else is Flask's, a GET on these paths too."""

    def __init__(self, application: Application, reviews: dict[str, AdmissionHandler]) -> None:
        self.application = application
        self._reviews = reviews

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        """PEP 3333."""
        reviews = self._reviews.get(environ["PATH_INFO"])
        if reviews is None or environ["REQUEST_METHOD"] != "POST":
            return self.application(environ, start_response)
        status, body = reviews.answer(environ)
        start_response(_STATUS[status], [*_HEADERS, ("Content-Length", str(len(body)))])
        return [body]


_HEADERS: Headers = [("Content-Type", JSON)]
_STATUS = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}


def _response(answer: Answer) -> Response:
    return Response(answer.body, answer.status, mimetype=JSON)


def _text(text: str, status: int = 200) -> Response:
    return Response(f"{text}\n", status, mimetype="text/plain")


def _metrics() -> Response:
    body = admission_metrics.exposition(request.args.getlist("name[]"), "PROMETHEUS_MULTIPROC_DIR" in os.environ)
    return Response(body, content_type=admission_metrics.CONTENT_TYPE)


def _http_error(error: HTTPException) -> Response:
    message, allowed = error.description or error.name, ""
    if isinstance(error, NotFound):
        message = f"path: {quote(request.path)}; want /mutate or /validate (or /healthz, /readyz, /metrics)"
    elif isinstance(error, MethodNotAllowed):
        allowed = ", ".join(sorted(error.valid_methods or ()))
        message = f"method: {quote(request.method)} for {quote(request.path)}; want {allowed}"
    response = _response(refuse(request.environ, error.code or 500, message))
    if allowed:
        response.headers["Allow"] = allowed
    return response
