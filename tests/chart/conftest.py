"""`helm` is the first that is found, `every_helm` goes through all of them: they render the same, as a test says, so
only what depends on the program itself needs them all. Without one the tests are skipped, and fail if CI is set."""

import os
from collections.abc import Iterator

import pytest

from testbed import assets
from tests.chart import installing
from tests.chart.helm import REMEDY, Helm, found

_FOUND = found()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name, helms in (("helm", _FOUND[:1]), ("every_helm", _FOUND)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(
                name, helms or [None], ids=lambda each: each.name if each else "no helm", indirect=True
            )


def _id(helm: Helm | None) -> str:
    return helm.name if helm else "no helm"


@pytest.fixture
def helm(request: pytest.FixtureRequest) -> Helm:
    """The real helm."""
    return _needed(request.param)


@pytest.fixture
def every_helm(request: pytest.FixtureRequest) -> Helm:
    """The real helm, each version."""
    return _needed(request.param)


def _needed(helm: Helm | None) -> Helm:
    if helm is not None:
        return helm
    message = f"there is no helm: {REMEDY}"
    if os.environ.get("CI"):
        pytest.fail(f"{message} (with CI set, the chart's tests may not be skipped)", pytrace=False)
    pytest.skip(message)


@pytest.fixture
def cluster() -> Iterator[installing.Cluster]:
    """A cluster of its own for each test (6 s)."""
    try:
        assets.find()
    except assets.NoAssetsError as problem:
        if os.environ.get("CI"):
            pytest.fail(f"{problem} (with CI set, the cluster tests may not be skipped)", pytrace=False)
        pytest.skip(str(problem))
    with installing.cluster() as made:
        yield made
