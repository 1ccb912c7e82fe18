"""`modelfit controller` as a process, with the service account and permissions that the chart gives it."""

from __future__ import annotations

import os
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from testbed import metrics
from testbed.api import ApiError, JsonObject
from testbed.controlplane import ControlPlane
from testbed.ports import free_port
from testbed.processes import Process
from testbed.programs import REPOSITORY, modelfit, webhook_server
from testbed.rbac import grant
from testbed.servers import LOOPBACK
from testbed.webhooks import registered

NAMESPACE = "modelfit"
USER = f"system:serviceaccount:{NAMESPACE}:controller"
LEASE = "modelfit-controller"
RULES = REPOSITORY / "charts" / "modelfit" / "files" / "controller-rbac.yaml"

NO_LEADER_ELECTION = {"MODELFIT_LEADER_ELECTION": "false"}
"""For tests that kill the controller and start it again: with leader election a lease would have to expire first."""

LONG_TESTS = bool(os.environ.get("LONG_TESTS"))
"""LONG_TESTS runs outages, bursts and load of the promised size; without it they are smaller."""


@dataclass(frozen=True)
class Controller:
    """A controller process. `url` serves its probes and metrics."""

    process: Process
    url: str

    def start(self) -> None:
        """Starts the process and waits until it is ready."""
        self.process.start()
        self.process.wait_url(f"{self.url}/readyz")

    def get(self, route: str) -> tuple[int, str]:
        """Status and text of a response."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(self.url + route, timeout=5) as answer:
                return int(answer.status), answer.read().decode()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read().decode()

    def metric(self, name: str, /, **labels: str) -> float:
        """The sum of its samples of that name with those labels; 0 if there are none."""
        return metrics.sum_samples(self.get("/metrics")[1], name, **labels)


def controller(
    plane: ControlPlane,
    *,
    server: str | None = None,
    kubeconfig: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Controller:
    """A controller that is not started yet, with the chart's permissions. `server` replaces the API server's URL."""
    grant_controller_rbac(plane)
    port = free_port()
    process = modelfit(
        "controller",
        *("controller", "--kubeconfig", kubeconfig or plane.kubeconfig(USER, server=server)),
        *("--lease", f"{NAMESPACE}/{LEASE}", "--host", LOOPBACK, "--metrics-port", str(port)),
        environment=environment,
    )
    return Controller(process, f"http://{LOOPBACK}:{port}")


@contextmanager
def running_controller(
    plane: ControlPlane,
    *,
    server: str | None = None,
    kubeconfig: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Controller]:
    """A running, ready controller. On exit it gets SIGTERM and must exit with 0."""
    started = controller(plane, server=server, kubeconfig=kubeconfig, environment=environment)
    try:
        started.start()
        yield started
        if started.process.running:
            assert started.process.stop() == 0
    finally:
        started.process.kill()


@contextmanager
def running_webhook_and_controller(plane: ControlPlane) -> Iterator[Controller]:
    """A registered webhook and a controller, as in an installation. All tests of a module can share them."""
    server = webhook_server()
    try:
        server.start()
        with registered(plane, server.url, server.files.ca.read_bytes()), running_controller(plane) as started:
            yield started
    finally:
        server.process.kill()


def grant_controller_rbac(plane: ControlPlane) -> None:
    """Grants the controller's service account the chart's permissions: its ClusterRole, and the Lease in its namespace.
    Does nothing if they exist."""
    try:
        grant(plane.api(), USER, yaml.safe_load(RULES.read_text()), name="modelfit-controller")
    except ApiError as refusal:
        if refusal.reason != "AlreadyExists":
            raise
        return
    plane.token(USER)
    group = "rbac.authorization.k8s.io"
    leases: JsonObject = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    rules = [{**leases, "verbs": ["create"]}, {**leases, "resourceNames": [LEASE], "verbs": ["get", "update"]}]
    metadata = {"name": "modelfit-controller", "namespace": NAMESPACE}
    plane.api().create({"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
    plane.api().create(
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": metadata["name"]},
            "subjects": [{"kind": "ServiceAccount", "namespace": NAMESPACE, "name": "controller"}],
        }
    )
