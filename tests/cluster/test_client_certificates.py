"""The API server presents a client certificate to a webhook that asks for one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.api import ApiError
from testbed.controlplane import ControlPlane
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.processes import Process
from testbed.programs import webhook_server
from testbed.servers import Options
from testbed.webhooks import ANNOTATION, CPU_ONLY_FIT, registered
from tests.wire.certificates import CertificateAuthority

pytestmark = pytest.mark.cluster

ANNOTATED = {ANNOTATION: CPU_ONLY_FIT}


def test_only_an_api_server_with_a_client_certificate_can_send_reviews(
    controlplane: ControlPlane,
    namespace: Namespace,
    make_controlplane: Callable[[Options], ControlPlane],
    programs: Callable[[Process], Process],
    tmp_path: Path,
) -> None:
    client_ca = CertificateAuthority()
    certificate, key = client_ca.issue("kube-apiserver")
    for name, text in {"ca": client_ca.certificate(), "certificate": certificate, "key": key}.items():
        (tmp_path / name).write_bytes(text)
    webhook = webhook_server("--client-ca-file", tmp_path / "ca", "--client-name", "kube-apiserver")
    programs(webhook.process)
    webhook.process.wait_url(f"{webhook.url}/healthz", ca=webhook.files.ca)
    ca = webhook.files.ca.read_bytes()
    with registered(controlplane, webhook.url, ca), pytest.raises(ApiError, match="failed calling webhook"):
        namespace.create(pod("refused", annotations=ANNOTATED))
    assert "client certificate: none" in webhook.process.output()
    user = {"client-certificate": str(tmp_path / "certificate"), "client-key": str(tmp_path / "key")}
    plane = make_controlplane(Options(apiserver_flags=(admission_flag(tmp_path, user),)))
    with registered(plane, webhook.url, ca):
        Namespace(plane.api()).create(pod("accepted", annotations=ANNOTATED))


def admission_flag(folder: Path, user: dict[str, str]) -> str:
    """The flag of an API server that presents the certificate of `user` to every webhook."""
    kubeconfig, configuration = folder / "webhooks.kubeconfig", folder / "admission.json"
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}]}))
    version = "apiserver.config.k8s.io/v1"
    settings = {"apiVersion": version, "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": str(kubeconfig)}
    plugins = [
        {"name": name, "configuration": settings} for name in ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
    ]
    configuration.write_text(json.dumps({"apiVersion": version, "kind": "AdmissionConfiguration", "plugins": plugins}))
    return f"--admission-control-config-file={configuration}"
