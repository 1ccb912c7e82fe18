"""Which peers may send reviews: those with a certificate of the client CA, if one is configured.

The API server presents a certificate if its AdmissionConfiguration names a kubeconfig with one for this webhook. Probes
and metrics are served without a certificate: the kubelet and Prometheus have none.
"""

from collections.abc import Collection, Mapping
from typing import Any

CLIENT_NAMES = "modelfit.client_names"
"""Key in the WSGI environment: the names on the peer's verified certificate; absent without one."""


def certificate_names(certificate: Mapping[str, Any] | None) -> frozenset[str]:
    """The common name and the DNS names of a certificate as `SSLSocket.getpeercert` returns it."""
    if not certificate:
        return frozenset()
    subject = {value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"}
    return frozenset(subject | {value for key, value in certificate.get("subjectAltName", ()) if key == "DNS"})


def find_error(environ: Mapping[str, Any], allowed_names: Collection[str]) -> str:
    """Why the peer may not send reviews; empty if it may. Empty `allowed_names` allow every name."""
    names = environ.get(CLIENT_NAMES)
    if names is None:
        return "client certificate: none; want one of the client CA (--client-ca-file)"
    if allowed_names and names.isdisjoint(allowed_names):
        return "client certificate: its names are not allowed; want one of those given with --client-name"
    return ""
