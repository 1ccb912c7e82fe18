"""The control plane of this package, and a run of scheduling trials on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.controlplane import ControlPlane
from testbed.servers import Options
from tests.vendors.scheduling_trials import Trials

FAST = ("--kube-api-qps=1000", "--kube-api-burst=2000")
"""With the default of 50 calls a second these tests would mostly wait for the client limit."""

BETAS = {"resource.k8s.io/v1beta1": True, "resource.k8s.io/v1beta2": True}


@pytest.fixture(scope="package")
def plane() -> Iterator[ControlPlane]:
    """Kubernetes' defaults, except for FAST and BETAS. Not the shared control plane: hundreds of nodes stay on it."""
    options = Options(runtime_config=BETAS, scheduler_flags=FAST, controller_manager_flags=FAST)
    with ControlPlane(options) as created:
        yield created


@pytest.fixture
def trials(plane: ControlPlane) -> Iterator[Trials]:
    """Trials on `plane`; their hardware is removed after the test."""
    created = Trials(plane.api())
    try:
        yield created
    finally:
        created.clear()
