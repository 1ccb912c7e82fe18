"""A caBundle that another client overwrites is restored within seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from testbed import workspace
from testbed.api import JsonObject
from testbed.certificates import mint
from testbed.certified import FOREIGN, MUTATING_KIND, OURS, VALIDATING_KIND, Installation
from testbed.controllers import Controller, running_controller
from testbed.controlplane import ControlPlane
from testbed.paths import path
from testbed.waiting import wait_for

pytestmark = pytest.mark.cluster

SECONDS = 10
"""A resync every two seconds, on a busy machine."""


@pytest.fixture(scope="module")
def installation(controlplane: ControlPlane) -> Iterator[Installation]:
    with Installation(controlplane) as made:
        yield made


@pytest.fixture(scope="module")
def ours(controlplane: ControlPlane, installation: Installation) -> Iterator[Controller]:
    with running_controller(controlplane, environment=installation.settings()) as made:
        yield made


def another_ca() -> bytes:
    return mint(workspace.current().folder("another")).ca.read_bytes()


WRITTEN: dict[str, Callable[[], bytes]] = {
    "another CA": another_ca,
    "nothing": lambda: b"",
    "garbage": lambda: b"no certificate",
    "a line feed, as some charts render": lambda: b"\n",
}


@pytest.mark.parametrize("kind", [MUTATING_KIND, VALIDATING_KIND])
@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN.keys())
def test_an_overwritten_ca_bundle_is_restored(
    installation: Installation, ours: Controller, kind: str, write: Callable[[], bytes]
) -> None:
    before, written = installation.data(), write()
    healed = ours.metric("modelfit_ca_bundle_patches_total", reason="healed")
    installation.write_bundle(kind, written)
    wait_for("it is restored", installation.in_place, timeout=SECONDS)
    assert installation.data() == before
    assert ours.metric("modelfit_ca_bundle_patches_total", reason="healed") == healed + 1
    foreign = [webhook for webhook in installation.webhooks(kind) if webhook["name"] == FOREIGN]
    # A foreign webhook keeps what was written.
    assert [bool(webhook["clientConfig"].get("caBundle")) for webhook in foreign] == [bool(written)] * len(foreign)


def test_a_recreated_configuration_gets_its_ca_bundle(installation: Installation, ours: Controller) -> None:
    missing = "modelfit_webhook_configurations_missing"
    for kind in OURS:
        installation.api.delete(path(kind, None, installation.name))
    wait_for("both are missing", lambda: ours.metric(missing) == 2, timeout=SECONDS)
    status, text = ours.get("/readyz")
    assert status == 200
    assert all(f"{kind} {installation.name}" in text for kind in OURS)
    for kind in OURS:
        installation.make_configuration(kind)
    wait_for("it has one", installation.in_place, timeout=SECONDS)
    wait_for("none is missing", lambda: ours.metric(missing) == 0, timeout=SECONDS)
    assert ours.get("/readyz") == (200, "ok\n")


def test_applying_the_configuration_without_a_ca_bundle_changes_nothing(
    controlplane: ControlPlane, installation: Installation, ours: Controller
) -> None:
    wait_for("all is in place", installation.in_place, timeout=SECONDS)
    for server_side in ([], ["--server-side", "--force-conflicts"]):
        for kind in OURS:
            manifest = without_bundle(installation, kind)
            for _ in range(2):
                controlplane.kubectl("apply", *server_side, "-f", "-", input=manifest).ok()
                assert installation.in_place()


def without_bundle(installation: Installation, kind: str) -> JsonObject:
    """The configuration as a GitOps repository has it."""
    hooks = installation.webhooks(kind)
    for hook in hooks:
        hook["clientConfig"].pop("caBundle", None)
    version = "admissionregistration.k8s.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": installation.name}, "webhooks": hooks}


def test_a_client_that_overwrites_the_ca_bundle_all_the_time_causes_few_writes(
    installation: Installation, ours: Controller
) -> None:
    """One patch for each resync, and no write of the Secret."""
    before = installation.data()
    patches = ours.metric("modelfit_ca_bundle_patches_total")
    deadline = time.monotonic() + 6
    while time.monotonic() < deadline:
        installation.write_bundle(MUTATING_KIND, b"")
        time.sleep(0.2)
    wait_for("it is restored", installation.in_place, timeout=SECONDS)
    assert installation.data() == before
    # At most one every two seconds, and retries after a conflict.
    assert ours.metric("modelfit_ca_bundle_patches_total") - patches < 15
