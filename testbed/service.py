"""Several webhooks behind one address, called by the API server through a Service, as the chart has them."""

from __future__ import annotations

import http.client
import random
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from testbed.background import BackgroundThreads
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
"""In a row, and it is not ready any more."""
STALE_SECONDS = 1.0
"""How long one that is not ready any more still gets connections: the news takes a moment."""


class Endpoints(BackgroundThreads):
    """Which webhooks are ready, by probes as a kubelet's. A context manager; `choose` is for a TCPProxy."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._used_until = dict.fromkeys(ports, 0.0)
        super().__init__(partial(self._watch, port) for port in ports)

    def choose(self) -> int:
        """The port of any that is ready. Raises ConnectionRefusedError where none is."""
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
    """Whether the webhook there says so. As for a kubelet, the certificate is not checked."""
    connection = http.client.HTTPSConnection(LOOPBACK, port, timeout=5, context=unverified_tls_context())
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def unverified_tls_context() -> ssl.SSLContext:
    """A client's context that trusts everybody, and reads no authorities from the disk for it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def worker_pids(replica: Replica) -> list[int]:
    """The process ids of its workers, once it has some."""
    pid = replica.process.pid

    def look() -> list[int]:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    return wait_for(f"webhook {replica.port} has workers", look)


@dataclass(frozen=True)
class Service:
    """`replicas` of the webhook, reached through `relay`, or directly by the port that `endpoints` chooses."""

    installation: Installation
    replicas: Sequence[Replica]
    endpoints: Endpoints
    relay: TCPProxy

    def wait_ready(self) -> None:
        """Until all are ready and the API server trusts and calls them; needs a controller that runs."""
        for each in self.replicas:
            wait_for(f"webhook {each.port} is ready", lambda: is_ready(each.port), timeout=60)  # noqa: B023
        wait_for("the certificate is in place", self.installation.in_place)
        wait_in_effect(self.installation.plane)

    def restart(self, replica: Replica) -> int:
        """Stops one as a rollout does and starts it again, ready when this returns. Its exit code."""
        code = replica.process.stop()
        replica.process.start()
        wait_for(f"webhook {replica.port} is ready again", lambda: is_ready(replica.port), timeout=60)
        return code


@contextmanager
def running_webhook_service(
    plane: ControlPlane, *, replicas: int = 2, environment: Mapping[str, str] | None = None
) -> Iterator[Service]:
    """Webhooks that are called for annotated objects (Fail) once a controller has given them their certificate.
    `environment` is theirs."""
    with ExitStack() as stack:
        installation = stack.enter_context(Installation(plane, configurations=()))
        each = [stack.enter_context(Replica(installation, environment=environment)) for _ in range(replicas)]
        endpoints = stack.enter_context(Endpoints([replica.port for replica in each]))
        relay = stack.enter_context(TCPProxy(endpoints.choose))
        stack.enter_context(_called_through(installation, relay.port))
        yield Service(installation, each, endpoints, relay)


@contextmanager
def _called_through(installation: Installation, port: int) -> Iterator[None]:
    """The Service and the configurations. A Service of this type is dialled by name at the port that the webhook asks
    for, and its certificate is checked for the Service's own name."""
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
