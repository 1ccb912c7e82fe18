"""The fixtures of the cluster tests; the package's docstring lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from testbed.controlplane import ControlPlane
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.processes import Process
from testbed.programs import WebhookServer, webhook_server
from testbed.servers import Options
from testbed.webhooks import registered


@pytest.fixture(scope="session")
def controlplane() -> Iterator[ControlPlane]:
    """The shared control plane with Kubernetes' defaults. Keep to your namespace."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture
def make_controlplane() -> Iterator[Callable[[Options], ControlPlane]]:
    """Starts control planes with other Options (4 s and 500 MB each), removed after the test."""
    with ExitStack() as planes:
        yield lambda options: planes.enter_context(ControlPlane(options))


@pytest.fixture
def inventory(controlplane: ControlPlane) -> Iterator[Inventory]:
    """The hardware of the shared control plane: none at first, removed after the test."""
    created = Inventory(controlplane.api())
    try:
        yield created
    finally:
        created.clear()


@pytest.fixture
def namespace(controlplane: ControlPlane, inventory: Inventory) -> Iterator[Namespace]:
    """A new namespace on the shared control plane. It is deleted before the hardware, since it requests `inventory`."""
    created = Namespace(controlplane.api())
    try:
        yield created
    finally:
        created.close()


@pytest.fixture
def programs() -> Iterator[Callable[[Process], Process]]:
    """Starts a process (see `testbed.programs`) and kills it after the test, also after restarts."""
    started: list[Process] = []

    def start(process: Process) -> Process:
        started.append(process)
        process.start()
        return process

    try:
        yield start
    finally:
        for process in reversed(started):
            process.kill()


@pytest.fixture
def server() -> Iterator[WebhookServer]:
    """`modelfit serve` over TLS, healthy, killed after the test. Not registered: see `webhook`."""
    started = webhook_server()
    try:
        started.start()
        yield started
    finally:
        started.process.kill()


@pytest.fixture
def webhook(controlplane: ControlPlane, server: WebhookServer) -> Iterator[WebhookServer]:
    """`server`, registered at the shared control plane with failurePolicy Fail and in effect."""
    with registered(controlplane, server.url, server.files.ca.read_bytes()):
        yield server
