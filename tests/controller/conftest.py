"""A cluster with an empty Secret and both configurations, and a clock."""

import pytest

from tests.controller.keeping import Clock
from tests.controller.objects import OURS, Objects


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def objects() -> Objects:
    made = Objects()
    made.make_secret()
    for path in OURS:
        made.make_configuration(path)
    return made
