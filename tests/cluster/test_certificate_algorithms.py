"""The certificate check accepts no key or signature that the API server refuses."""

from __future__ import annotations

import base64
import secrets
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs import pem, secret_data, verification
from certs.secret_data import State
from testbed.api import JsonObject
from testbed.certified import HOST as SERVICE_HOST
from testbed.certified import VALIDATING_KIND, Installation
from testbed.controllers import running_controller
from testbed.controlplane import ControlPlane
from testbed.namespaces import Namespace
from testbed.paths import path
from testbed.servers import LOOPBACK
from testbed.stub_webhook import StubWebhook, allow
from testbed.waiting import wait_for
from testbed.webhooks import create_configuration
from tests.certs.foreign_certificates import Shape
from tests.certs.key_kinds import CASES, Case, make_case

pytestmark = pytest.mark.cluster

HOST = "localhost"


ACCEPTED = "the API server accepts the certificate"


@pytest.mark.parametrize("case_id", CASES)
def test_the_check_accepts_only_what_the_api_server_accepts(
    controlplane: ControlPlane, namespace: Namespace, tmp_path: Path, case_id: str
) -> None:
    case = make_case(case_id, valid_now())
    problems = verification.key_pair_problems(case.leaf, (case.ca.certificate,), datetime.now(UTC), [HOST])
    assert bool(problems) is bool(case.fault), problems
    with registered_for_secrets(controlplane, namespace, case, tmp_path / "pair.pem"):
        answer = wait_for("the webhook is called", lambda: call(namespace))
    assert (answer == ACCEPTED) is case.accepted_by_go, answer
    assert case.accepted_by_go or problems


@pytest.mark.parametrize("case_id", [each for each in CASES if "secp256k1" in each or "RSA-1024" in each])
def test_a_certificate_that_the_api_server_or_the_webhook_refuses_is_replaced(
    controlplane: ControlPlane, case_id: str
) -> None:
    with Installation(controlplane) as installation:
        case = make_case(case_id, valid_now(SERVICE_HOST))
        data = secret_data.dump(State(case.leaf, case.ca))
        installation.damage(data)
        with running_controller(controlplane, environment=installation.settings()):
            assert installation.in_place()
            repaired, _ = secret_data.parse(installation.data())
            assert verification.is_trusted(repaired.leaf, repaired.cas, datetime.now(UTC))


def valid_now(host: str = HOST) -> Shape:
    now = datetime.now(UTC).replace(microsecond=0)
    return Shape(subject="server", names=[host], start=now - timedelta(hours=1), end=now + timedelta(days=1))


def call(namespace: Namespace) -> str:
    """The warning of the webhook, or the API server's error; empty if the webhook is not called yet."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "call"}}
    answer = namespace.api.send("POST", namespace.path("Secret"), secret, query={"dryRun": "All"})
    return "".join(answer.warnings) if answer.status < 400 else str(answer.body["message"])


@contextmanager
def registered_for_secrets(plane: ControlPlane, namespace: Namespace, case: Case, file: Path) -> Iterator[None]:
    """Registers a webhook with the certificate of `case`, for Secrets in `namespace`, which warns with ACCEPTED."""
    file.write_bytes(pem.dump_certificates((case.leaf.certificate,)) + case.leaf.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # OpenSSL serves weak keys at this security level.
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.load_cert_chain(file)
    name = f"algorithm-{secrets.token_hex(3)}"
    with StubWebhook(lambda _: allow(warnings=[ACCEPTED]), context) as webhook:
        bundle = base64.b64encode(pem.dump_certificates((case.ca.certificate,))).decode()
        hook: JsonObject = {
            "name": "secrets.algorithm.test",
            "clientConfig": {"url": webhook.url.replace(LOOPBACK, HOST), "caBundle": bundle},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"], "operations": ["CREATE"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        create_configuration(plane, VALIDATING_KIND, name, [hook])
        try:
            yield
        finally:
            plane.api().delete(path(VALIDATING_KIND, None, name))
