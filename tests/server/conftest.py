"""A test client of the WSGI application."""

import pytest
from werkzeug.test import Client

from webhook.core.admission_config import AdmissionConfig
from webhook.server.app import create_app

MAX_BYTES = 64 << 10


@pytest.fixture
def client() -> Client:
    """A client of an application that is ready."""
    return Client(create_app(AdmissionConfig(), MAX_BYTES, lambda: True))
