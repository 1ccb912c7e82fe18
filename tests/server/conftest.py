"""The application, by both of its ways."""

from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from webhook.core.admission_config import AdmissionConfig
from webhook.server.app import Shortcut, create_app

MAX_BYTES = 64 << 10


@pytest.fixture
def readiness() -> dict[str, bool]:
    """What the application is told when it asks whether it is ready."""
    return {"is_ready": True}


@pytest.fixture(params=["shortcut", "flask"])
def make_app(request: pytest.FixtureRequest, readiness: dict[str, bool]) -> Callable[[], Flask]:
    """Makes the application, with the way that reviews take in production, or with Flask alone."""

    def make() -> Flask:
        app = create_app(AdmissionConfig(), MAX_BYTES, lambda: readiness["is_ready"])
        if request.param == "flask":
            shortcut = app.wsgi_app
            assert isinstance(shortcut, Shortcut)
            app.wsgi_app = shortcut.application  # type: ignore[method-assign, assignment]
        return app

    return make


@pytest.fixture
def client(make_app: Callable[[], Flask]) -> FlaskClient:
    return make_app().test_client()
