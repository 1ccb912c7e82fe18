"""`modelfit controller` as processes, each under the identity and the very permissions that the chart gives it."""

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
"""For a test that kills it and wants it to act again at once: a lease would have to run out first."""

LONG_TESTS = bool(os.environ.get("LONG_TESTS"))
"""Set LONG_TESTS for outages, bursts and crowds of the size that the product promises; without it they are smaller."""


@dataclass(frozen=True)
class Controller:
    """A controller that is not started yet. `url` is where its probes are."""

    process: Process
    url: str

    def start(self) -> None:
        """Starts it (again); ready when this returns."""
        self.process.start()
        self.process.wait_url(f"{self.url}/readyz")

    def get(self, route: str) -> tuple[int, str]:
        """The answer of a probe: its status and its text."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(self.url + route, timeout=5) as answer:
                return int(answer.status), answer.read().decode()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read().decode()

    def metric(self, name: str, /, **labels: str) -> float:
        """The sum of its samples of that name with those labels; 0 where there are none."""
        return metrics.sum_samples(self.get("/metrics")[1], name, **labels)


def controller(
    plane: ControlPlane,
    *,
    server: str | None = None,
    kubeconfig: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Controller:
    """A controller of `plane`, with the chart's permissions; `server` where its way there is not the direct one."""
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
    """The same, started and ready. At the end it is stopped as Kubernetes stops it, and has to end well."""
    made = controller(plane, server=server, kubeconfig=kubeconfig, environment=environment)
    try:
        made.start()
        yield made
        if made.process.running:
            assert made.process.stop() == 0
    finally:
        made.process.kill()


@contextmanager
def running_webhook_and_controller(plane: ControlPlane) -> Iterator[Controller]:
    """The webhook, registered, and the controller, as an operator has them. Good for all tests of a module."""
    server = webhook_server()
    try:
        server.start()
        with registered(plane, server.url, server.files.ca.read_bytes()), running_controller(plane) as ours:
            yield ours
    finally:
        server.process.kill()


def grant_controller_rbac(plane: ControlPlane) -> None:
    """Gives the controller's service account what the chart gives it: the rules of its file in all namespaces, and the
    Lease in its own. Once is enough."""
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
