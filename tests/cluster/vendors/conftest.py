"""The control plane of this package."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.controlplane import ControlPlane
from testbed.servers import Options
from tests.cluster.vendors.trials import Trials

FAST = ("--kube-api-qps=1000", "--kube-api-burst=2000")
"""The default of 50 calls a second would be what these tests wait for."""

BETAS = {"resource.k8s.io/v1beta1": True, "resource.k8s.io/v1beta2": True}


@pytest.fixture(scope="package")
def plane() -> Iterator[ControlPlane]:
    """Kubernetes' defaults, but for the two above."""
    options = Options(runtime_config=BETAS, scheduler_flags=FAST, controller_manager_flags=FAST)
    with ControlPlane(options) as made:
        yield made


@pytest.fixture
def trials(plane: ControlPlane) -> Iterator[Trials]:
    """A run on `plane`, cleared away after the test."""
    made = Trials(plane.api())
    try:
        yield made
    finally:
        made.clear()
