"""The WSGI application: `/mutate` and `/validate` go to the admission handlers, all other paths to Flask."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound

from webhook.core.admission import decide
from webhook.core.admission_config import AdmissionConfig
from webhook.errors import quote
from webhook.observe import admission_metrics
from webhook.server import client_authentication
from webhook.server.admission_handler import AdmissionHandler
from webhook.server.body_reader import BodyReader
from webhook.server.rejections import reject, reject_method
from webhook.server.wsgi import Application

_STATUS_LINES = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}


def create_app(
    config: AdmissionConfig,
    max_review_bytes: int,
    is_ready: Callable[[], bool],
    client_names: Collection[str] | None = None,
) -> Application:
    """The application. `max_review_bytes` limits a request's body; /readyz calls `is_ready`. `client_names`: reviews
    need a client certificate with one of these names, or any if empty; None: they need none."""
    bodies = BodyReader(max_review_bytes)
    handlers = {
        "/mutate": AdmissionHandler("mutate", decide.mutate, config, bodies),
        "/validate": AdmissionHandler("validate", decide.validate, config, bodies),
    }
    return Router(handlers, _create_flask_app(is_ready), client_names)


class Router:
    """Sends a request to the admission handler of its path, or else to `fallback`.

    Flask's request context, routing and signals take as long as an admission decision, so reviews do not pass
    through Flask.
    """

    def __init__(
        self,
        handlers: Mapping[str, AdmissionHandler],
        fallback: Application,
        client_names: Collection[str] | None,
    ) -> None:
        self._handlers = handlers
        self._fallback = fallback
        self._client_names = client_names

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        """PEP 3333."""
        handler = self._handlers.get(environ["PATH_INFO"])
        if handler is None:
            return self._fallback(environ, start_response)
        error = "" if self._client_names is None else client_authentication.find_error(environ, self._client_names)
        status, body, headers = reject(environ, 403, error) if error else handler.handle(environ)
        start_response(_STATUS_LINES[status], list(headers))
        return [body]


def _create_flask_app(is_ready: Callable[[], bool]) -> Flask:
    """Probes, metrics, and the response to unknown paths."""
    app = Flask("modelfit", static_folder=None)

    def add(path: str, view: Callable[[], Response]) -> None:
        app.add_url_rule(path, path[1:], view, methods=["GET"], provide_automatic_options=False)

    add("/healthz", lambda: _text("ok"))
    add("/readyz", lambda: _text("ok") if is_ready() else _text("draining", 503))
    add("/metrics", _metrics)
    app.register_error_handler(HTTPException, _handle_http_error)
    return app


def _text(text: str, status: int = 200) -> Response:
    return Response(f"{text}\n", status, mimetype="text/plain")


def _metrics() -> Response:
    body = admission_metrics.exposition(request.args.getlist("name[]"), "PROMETHEUS_MULTIPROC_DIR" in os.environ)
    return Response(body, content_type=admission_metrics.CONTENT_TYPE)


def _handle_http_error(error: HTTPException) -> Response:
    environ = request.environ
    if isinstance(error, NotFound):
        message = f"path: {quote(request.path)}; want /mutate or /validate (or /healthz, /readyz, /metrics)"
        rejection = reject(environ, 404, message)
    elif isinstance(error, MethodNotAllowed):
        rejection = reject_method(environ, ", ".join(sorted(error.valid_methods or ())))
    else:
        rejection = reject(environ, error.code or 500, error.description or error.name)
    return Response(rejection.body, rejection.status, list(rejection.headers))
