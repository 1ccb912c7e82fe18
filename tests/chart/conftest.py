"""Fixtures with helm and with a cluster.

`helm` is one installed helm, `every_helm` runs the test with each. A test checks that all of them render the same
objects, so only tests of helm's own behaviour need `every_helm`. Without helm the tests are skipped, or fail if CI is
set.
"""

import os
from collections.abc import Iterator

import pytest

from testbed import assets
from tests.chart.helm import INSTALL_HINT, Helm, find_all
from tests.chart.installing import Cluster, cluster_with_gpus

_HELMS = find_all()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name, helms in (("helm", _HELMS[:1]), ("every_helm", _HELMS)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(
                name, helms or [None], ids=lambda each: each.name if each else "no helm", indirect=True
            )


@pytest.fixture
def helm(request: pytest.FixtureRequest) -> Helm:
    """One helm."""
    return _require(request.param)


@pytest.fixture
def every_helm(request: pytest.FixtureRequest) -> Helm:
    """Each installed helm."""
    return _require(request.param)


def _require(helm: Helm | None) -> Helm:
    if helm is not None:
        return helm
    message = f"helm not found: {INSTALL_HINT}"
    if os.environ.get("CI"):
        pytest.fail(f"{message} (chart tests must not be skipped if CI is set)", pytrace=False)
    pytest.skip(message)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A new cluster for each test (6 s)."""
    try:
        assets.find()
    except assets.NoAssetsError as error:
        if os.environ.get("CI"):
            pytest.fail(f"{error} (cluster tests must not be skipped if CI is set)", pytrace=False)
        pytest.skip(str(error))
    with cluster_with_gpus() as cluster:
        yield cluster
