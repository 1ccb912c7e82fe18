"""An API server with an empty Secret and both webhook configurations, and a clock."""

import pytest

from tests.controller.fake_api_server import WEBHOOKS, Clock, FakeApiServer


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server() -> FakeApiServer:
    made = FakeApiServer()
    made.make_secret()
    for path in WEBHOOKS:
        made.make_configuration(path)
    return made
