"""Run the admission webhook: HTTPS on one port, until SIGTERM.

Serves POST /mutate and /validate (AdmissionReview admission.k8s.io/v1), and
GET /healthz, /readyz and /metrics. Needs no access to the cluster. Replaced
certificate files are used from the next connection on, without a restart.

example:
  modelfit serve --host 0.0.0.0 --port 8443 --cert tls.crt --key tls.key
"""

import argparse
from pathlib import Path

from webhook.cli import UsageError, inputs
from webhook.observe import logs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="0.0.0.0", help="address to listen on (default: 0.0.0.0; :: adds IPv6)")  # noqa: S104
    parser.add_argument("--port", type=_port, default=8443, help="port to listen on (default: 8443)")
    parser.add_argument("--cert", metavar="FILE", type=Path, required=True, help="certificate chain, PEM")
    parser.add_argument("--key", metavar="FILE", type=Path, required=True, help="private key of the certificate, PEM")
    parser.add_argument(
        "--client-ca-file",
        metavar="FILE",
        type=Path,
        help="CA bundle, PEM: reviews need a client certificate of it (default: anyone may send reviews)",
    )
    parser.add_argument(
        "--client-name",
        metavar="NAME",
        action="append",
        default=[],
        help="a name that the client certificate may have; may be repeated (default: any)",
    )
    parser.add_argument("--config", metavar="FILE", help="settings file")
    parser.add_argument("--workers", metavar="N", type=_workers, help="worker processes (default: from the settings)")


def run(arguments: argparse.Namespace) -> int:
    """Serves until SIGTERM. Raises InvalidSettings or CannotServe if it cannot start."""
    settings = inputs.load_settings(arguments.config)
    logs.configure(settings.log_level)
    # Imported here, so that `--help` does not load gunicorn.
    from webhook.server.gunicorn_server import CertificateFiles, Server, listen

    if arguments.client_name and not arguments.client_ca_file:
        raise UsageError("--client-name: given without --client-ca-file; want both, or neither")
    files = CertificateFiles(arguments.cert, arguments.key, arguments.client_ca_file, tuple(arguments.client_name))
    listener = listen(arguments.host, arguments.port)
    workers = arguments.workers or settings.workers
    Server(settings, workers, listener, files).run()
    return 0


def _port(text: str) -> int:
    return inputs.integer(text, 1, 65535)


def _workers(text: str) -> int:
    return inputs.integer(text, 1, 64)
