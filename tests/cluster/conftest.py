"""The fixtures of the cluster tests; what each gives is told in the package's docstring."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack

import pytest

from testbed import assets
from testbed.controlplane import ControlPlane
from testbed.failure_logs import save_logs
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.processes import Process
from testbed.programs import WebhookServer, webhook_server
from testbed.servers import Options
from testbed.webhooks import registered

_STARTED = pytest.StashKey[float]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_STARTED] = time.time()
    if item.get_closest_marker("cluster") is None:
        return
    try:
        assets.find()
    except assets.NoAssetsError as problem:
        if os.environ.get("CI"):
            pytest.fail(f"{problem} (with CI set, the cluster tests may not be skipped)", pytrace=False)
        pytest.skip(str(problem))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and item.get_closest_marker("cluster") is not None:
        kept = save_logs(item.name, item.stash[_STARTED])
        if kept is not None:
            report.sections.append(("logs of the processes", str(kept)))
    return report


@pytest.fixture(scope="session")
def controlplane() -> Iterator[ControlPlane]:
    """The control plane that the session's tests share, with Kubernetes' defaults; keep to your namespace."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture
def make_controlplane() -> Iterator[Callable[[Options], ControlPlane]]:
    """Makes further control planes with other Options (500 MB and 4 s each), gone at the end of the test."""
    with ExitStack() as planes:
        yield lambda options: planes.enter_context(ControlPlane(options))


@pytest.fixture
def inventory(controlplane: ControlPlane) -> Iterator[Inventory]:
    """The shared control plane's hardware, none yet; taken away at the end of the test."""
    made = Inventory(controlplane.api())
    try:
        yield made
    finally:
        made.clear()


@pytest.fixture
def namespace(controlplane: ControlPlane, inventory: Inventory) -> Iterator[Namespace]:
    """A new namespace on the shared control plane. It ends before the hardware does, as `inventory` is under it."""
    made = Namespace(controlplane.api())
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def programs() -> Iterator[Callable[[Process], Process]]:
    """Starts a process (see `programs.modelfit`) and kills it at the end of the test, also after restarts."""
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
    """`modelfit serve` over TLS, healthy; killed at the end of the test. Not registered: see `webhook`."""
    made = webhook_server()
    try:
        made.start()
        yield made
    finally:
        made.process.kill()


@pytest.fixture
def webhook(controlplane: ControlPlane, server: WebhookServer) -> Iterator[WebhookServer]:
    """`server`, registered at the shared control plane with failurePolicy Fail and in effect."""
    with registered(controlplane, server.url, server.files.ca.read_bytes()):
        yield server
