"""Create the claims of injected pods, until SIGTERM.

Watches the pods that the webhook has injected, and creates for each the
ResourceClaim that it waits for, owned by the pod. With `certificates` in its
settings it also issues and renews the webhook's certificate. Uses the service
account of its pod, or a kubeconfig. Of several replicas, one is the leader.
Serves GET /healthz, /readyz and /metrics in plain HTTP.

example:
  modelfit controller --lease modelfit/modelfit-controller
"""

import argparse
import logging
import secrets
import signal
import socket
import threading
from importlib.metadata import version
from pathlib import Path

from webhook.cli import UsageError, inputs
from webhook.errors import quote
from webhook.observe import logs

SPARE_CONNECTIONS = 8
"""Connections in addition to the workers': watches, leader election, discovery, scanner, certificates."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kubeconfig", metavar="FILE", help="kubeconfig of the cluster (default: the pod's service account)"
    )
    parser.add_argument("--config", metavar="FILE", help="settings")
    parser.add_argument(
        "--lease",
        metavar="NAMESPACE/NAME",
        type=_lease,
        help="the Lease of the leader election (default: modelfit-controller, in the namespace of the service account"
        " or of the kubeconfig's context)",
    )
    parser.add_argument("--host", default="0.0.0.0", help="address of the probes (default: 0.0.0.0; :: is IPv6)")  # noqa: S104
    parser.add_argument(
        "--metrics-port", type=_port, default=8080, help="port of the probes and metrics (default: 8080; 0 is any)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the controller; 0 after SIGTERM or SIGINT. Raises UsageError and InvalidSettings if it cannot start."""
    settings = inputs.load_settings(arguments.config)
    logs.configure(settings.log_level)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    # Imported here because the Kubernetes client takes 0.25 s to import.
    from webhook.cluster import client_config
    from webhook.cluster.api import Api
    from webhook.controller.certificate_reconciler import CertificateReconciler
    from webhook.controller.manager import Controller, Options
    from webhook.controller.probes import Probes

    try:
        config = client_config.load(Path(arguments.kubeconfig) if arguments.kubeconfig else None)
    except client_config.NotConfigured as error:
        raise UsageError(str(error)) from None
    namespace, lease = arguments.lease or (config.namespace, "modelfit-controller")
    options = Options(
        identity=f"{socket.gethostname()}_{secrets.token_hex(4)}",
        namespace=namespace,
        lease=lease,
        workers=settings.claim_workers,
        leader_election=settings.leader_election,
        uninjected_scan_seconds=settings.uninjected_scan_seconds,
        excluded_namespaces=frozenset(settings.excluded_namespaces),
        included_namespaces=frozenset(settings.included_namespaces),
    )
    api = Api(
        config,
        connections=settings.claim_workers + SPARE_CONNECTIONS,
        user_agent=f"modelfit-controller/{version('modelfit-webhook')}",
    )
    certificates = CertificateReconciler.from_settings(settings.certificates, api) if settings.certificates else None
    controller = Controller(api, settings.admission_config(), options, certificates)
    controller.start()
    try:
        probes = Probes(
            arguments.host,
            arguments.metrics_port,
            controller.liveness_error,
            controller.readiness_error,
            controller.note,
        )
    except OSError as error:
        controller.stop()
        flags = f"--host {quote(arguments.host)} --metrics-port {arguments.metrics_port}"
        expected = "want an address of this machine, and a port that is free"
        raise UsageError(f"{flags}: {error.strerror or error}; {expected}") from None
    log = logging.getLogger("modelfit.controller")
    log.info("started", extra={"fields": {"identity": options.identity, "port": probes.port}})
    stop.wait()
    log.info("stopping")
    controller.stop()
    probes.close()
    return 0


def _port(text: str) -> int:
    return inputs.integer(text, 0, 65535)


def _lease(text: str) -> tuple[str, str]:
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise argparse.ArgumentTypeError(f"{quote(text)}; want NAMESPACE/NAME")
    return namespace, name
