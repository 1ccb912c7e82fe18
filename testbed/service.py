"""Several webhook replicas behind one Service that the API server calls, as in the chart."""

from __future__ import annotations

import http.client
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from testbed.background import BackgroundThreads
from testbed.certificates import unverified_tls_context
from testbed.certified import SERVICE, Installation, Replica
from testbed.controllers import NAMESPACE
from testbed.controlplane import ControlPlane
from testbed.paths import path
from testbed.servers import LOOPBACK
from testbed.tcp_proxy import TCPProxy
from testbed.waiting import wait_for
from testbed.webhooks import chart_webhooks, create_configuration, wait_in_effect, wait_out_of_effect

PROBE_SECONDS = 0.25
FAILED_PROBES = 2
"""Consecutive failures after which a replica is not ready."""
STALE_SECONDS = 1.0
"""For how long an unready replica still gets connections: endpoint updates take a moment to arrive."""


class Endpoints(BackgroundThreads):
    """The ready webhooks, found by a kubelet's readiness probes. A context manager; `pick_port` suits a TCPProxy."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._used_until = dict.fromkeys(ports, 0.0)
        super().__init__(partial(self._watch, port) for port in ports)

    def pick_port(self) -> int:
        """The port of a random ready webhook. Raises ConnectionRefusedError if none is ready."""
        now = time.monotonic()
        found = [port for port, end in self._used_until.items() if now < end]
        if not found:
            raise ConnectionRefusedError
        return random.choice(found)  # noqa: S311

    def _watch(self, port: int) -> None:
        failed = FAILED_PROBES
        while not self._stop.wait(PROBE_SECONDS):
            failed = 0 if is_ready(port) else failed + 1
            if failed == 0:
                self._used_until[port] = float("inf")
            elif failed == FAILED_PROBES:
                self._used_until[port] = time.monotonic() + STALE_SECONDS


def is_ready(port: int) -> bool:
    """Whether the webhook on this port is ready. Like a kubelet, it does not verify the certificate."""
    connection = http.client.HTTPSConnection(LOOPBACK, port, timeout=5, context=unverified_tls_context())
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def worker_pids(replica: Replica) -> list[int]:
    """The process ids of its workers, once they run."""
    pid = replica.process.pid

    def children() -> list[int]:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    return wait_for(f"webhook {replica.port} has workers", children)


@dataclass(frozen=True)
class Service:
    """The webhook's `replicas`, reached through `proxy`, or directly by a port that `endpoints` picks."""

    installation: Installation
    replicas: Sequence[Replica]
    endpoints: Endpoints
    proxy: TCPProxy

    def wait_ready(self) -> None:
        """Waits until all replicas are ready and the API server trusts and calls them. Needs a running controller."""
        for each in self.replicas:
            wait_for(f"webhook {each.port} is ready", lambda: is_ready(each.port), timeout=60)  # noqa: B023
        wait_for("the certificate is in place", self.installation.in_place)
        wait_in_effect(self.installation.plane)

    def restart(self, replica: Replica) -> int:
        """Stops a replica as a rollout does, starts it again and waits until it is ready. Returns its exit code."""
        code = replica.process.stop()
        replica.process.start()
        wait_for(f"webhook {replica.port} is ready again", lambda: is_ready(replica.port), timeout=60)
        return code


@contextmanager
def running_webhook_service(
    plane: ControlPlane, *, replicas: int = 2, environment: Mapping[str, str] | None = None
) -> Iterator[Service]:
    """Webhooks that the API server calls for annotated objects (Fail) once a controller has issued their certificate.
    `environment` is the webhooks' environment."""
    with ExitStack() as stack:
        installation = stack.enter_context(Installation(plane, configurations=()))
        started = [stack.enter_context(Replica(installation, environment=environment)) for _ in range(replicas)]
        endpoints = stack.enter_context(Endpoints([replica.port for replica in started]))
        proxy = stack.enter_context(TCPProxy(endpoints.pick_port))
        stack.enter_context(_registered_service(installation, proxy.port))
        yield Service(installation, started, endpoints, proxy)


@contextmanager
def _registered_service(installation: Installation, port: int) -> Iterator[None]:
    """The Service and the webhook configurations. The API server dials an ExternalName Service at the port in the
    webhook configuration and verifies the certificate against the Service's own name."""
    plane, api = installation.plane, installation.api
    spec = {"type": "ExternalName", "externalName": "localhost"}
    metadata = {"name": SERVICE, "namespace": NAMESPACE}
    api.create({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
    named = {"name": SERVICE, "namespace": NAMESPACE, "port": port}
    hooks = chart_webhooks(lambda route: {"service": {**named, "path": route}})
    try:
        for kind, webhooks in hooks.items():
            create_configuration(plane, kind, installation.name, webhooks)
        yield
    finally:
        for kind in hooks:
            api.delete_if_exists(path(kind, None, installation.name))
        api.delete(path("Service", NAMESPACE, SERVICE))
        wait_out_of_effect(plane)
