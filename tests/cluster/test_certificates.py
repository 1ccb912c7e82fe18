"""The controller issues and renews the webhook's certificate, with the permissions that the chart grants."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from testbed.certified import FOREIGN, MUTATING_KIND, VALIDATING_KIND, Installation, Replica, rules
from testbed.controllers import NAMESPACE, USER, controller, running_controller
from testbed.controlplane import ControlPlane
from testbed.paths import path
from testbed.servers import Options
from testbed.waiting import consistently, wait_for

pytestmark = pytest.mark.cluster

LAST_SUCCESS = "modelfit_certificate_last_success_timestamp_seconds"
GARBAGE: Mapping[str, Mapping[str, bytes]] = {
    "empty values": {"tls.crt": b"", "tls.key": b""},
    "garbage": {
        "tls.crt": b"garbage",
        "tls.key": b"garbage",
        "ca.crt": b"garbage",
        "ca.key": b"\0",
        "state.json": b"[",
    },
    "other keys": {"notes": b"keep me"},
}


@pytest.fixture
def installation(controlplane: ControlPlane) -> Iterator[Installation]:
    with Installation(controlplane) as made:
        yield made


def test_an_empty_secret_is_filled_and_its_ca_published_before_the_controller_is_ready(
    controlplane: ControlPlane, installation: Installation
) -> None:
    with (
        running_controller(controlplane, environment=installation.settings()) as ours,
        Replica(installation) as replica,
    ):
        assert installation.in_place()
        secret, data = installation.secret(), installation.data()
        assert (secret["type"], secret["metadata"]["labels"]) == ("Opaque", {"installed-by": "test"})
        assert len(x509.load_pem_x509_certificates(data["ca.crt"])) == 1
        served = wait_for("the webhook serves it", lambda: shown(replica, data["ca.crt"]))
        assert served == data["tls.crt"]
        (foreign,) = [hook for hook in installation.webhooks(MUTATING_KIND) if hook["name"] == FOREIGN]
        assert "caBundle" not in foreign["clientConfig"]
        leaf = x509.load_pem_x509_certificate(data["tls.crt"])
        end = ours.metric("modelfit_certificate_expiry_timestamp_seconds", certificate="leaf")
        assert end == leaf.not_valid_after_utc.timestamp()
        assert ours.metric("modelfit_ca_bundle_patches_total", reason="published") == 2
        before = secret["metadata"]["resourceVersion"]

        def version() -> str:
            return str(installation.secret()["metadata"]["resourceVersion"])

        consistently("nothing more is written", version, lambda version: version == before, seconds=5)
        wait_for("the last success is recent", lambda: is_recent(ours.metric(LAST_SUCCESS)))


def is_recent(moment: float) -> bool:
    return time.time() - moment < 10


def shown(replica: Replica, bundle: bytes) -> bytes | None:
    """The leaf that is served, PEM; None if the client cannot connect."""
    try:
        der = replica.served(bundle)
    except OSError:
        return None
    return x509.load_der_x509_certificate(der).public_bytes(Encoding.PEM)


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE.keys())
def test_a_secret_with_garbage_in_it_is_repaired(
    controlplane: ControlPlane, installation: Installation, data: Mapping[str, bytes]
) -> None:
    installation.damage(data)
    with running_controller(controlplane, environment=installation.settings()):
        assert installation.in_place()
        assert installation.data().get("notes") == data.get("notes")


@pytest.mark.parametrize("entry", ["tls.crt", "tls.key", "ca.crt", "ca.key"])
def test_a_secret_that_is_damaged_while_it_runs_is_repaired_and_the_webhook_stays_trusted(
    controlplane: ControlPlane, installation: Installation, entry: str
) -> None:
    with running_controller(controlplane, environment=installation.settings()), Replica(installation) as replica:
        before = installation.data()
        wait_for("the webhook serves", lambda: shown(replica, before["ca.crt"]))
        installation.damage({entry: b"garbage"})

        def trusted() -> bool:
            bundles = installation.bundles()
            return all(shown(replica, bundle) is not None for bundle in bundles.values())

        wait_for("it is repaired", installation.data, lambda data: data.get(entry) != b"garbage", timeout=10)
        consistently("the served leaf is trusted", trusted, seconds=3)
        assert installation.in_place()


@pytest.mark.parametrize("there", [(), (MUTATING_KIND,), (VALIDATING_KIND,)], ids=["none", "mutating", "validating"])
def test_configurations_that_are_created_later_get_their_ca_bundles(
    controlplane: ControlPlane, there: tuple[str, ...]
) -> None:
    with (
        Installation(controlplane, configurations=there) as installation,
        running_controller(controlplane, environment=installation.settings()),
    ):
        assert installation.in_place()
        for kind in {MUTATING_KIND, VALIDATING_KIND} - {*there}:
            installation.make_configuration(kind)
        wait_for(
            "all are filled",
            installation.bundles,
            lambda bundles: len(bundles) == 3 and all(bundles.values()),
            timeout=10,
        )
        assert installation.in_place()


def test_a_missing_secret_is_reported_and_used_once_it_exists(
    controlplane: ControlPlane, installation: Installation
) -> None:
    installation.api.delete(path("Secret", NAMESPACE, installation.name))
    ours = controller(controlplane, environment=installation.settings())
    try:
        ours.process.start()
        ours.process.wait_url(f"{ours.url}/healthz")
        missing = f"Secret {NAMESPACE}/{installation.name} does not exist and cannot be created"
        status, _ = wait_for(
            "it reports what is missing", lambda: ours.get("/readyz"), lambda answer: missing in answer[1]
        )
        assert status == 503
        installation.make_secret()
        ours.process.wait_url(f"{ours.url}/readyz", timeout=60)
        assert installation.in_place()
    finally:
        assert ours.process.stop() == 0


def test_a_missing_permission_on_one_configuration_does_not_affect_the_other(
    controlplane: ControlPlane, installation: Installation
) -> None:
    (rule,) = rules(installation.name, installation.name)[1]
    narrow = {**rule, "resources": ["mutatingwebhookconfigurations"]}
    installation.api.patch(path("ClusterRole", None, installation.name), {"rules": [narrow]})
    ours = controller(controlplane, environment=installation.settings())
    try:
        ours.process.start()
        ours.process.wait_url(f"{ours.url}/healthz")
        wait_for("the other one is filled", installation.bundles, lambda bundles: any(bundles.values()), timeout=10)
        assert [name for name, held in installation.bundles().items() if held] == ["mutate.modelfit.llmfit.ai"]
        status, text = ours.get("/readyz")
        assert status == 503
        assert "lacks the permission" in text
        assert ours.metric("modelfit_api_failures_total", reason="Forbidden") > 0
        installation.api.patch(path("ClusterRole", None, installation.name), {"rules": [rule]})
        ours.process.wait_url(f"{ours.url}/readyz", timeout=60)
        assert installation.in_place()
    finally:
        assert ours.process.stop() == 0


def test_lifetimes_that_do_not_fit_together_are_an_error_at_start(
    controlplane: ControlPlane, installation: Installation
) -> None:
    ours = controller(controlplane, environment=installation.settings(leafLifetimeDays=0.01))
    ours.process.start()
    assert ours.process.wait() == 2
    assert (
        "certificates: leaf lifetime: 0:14:24 with a propagation of 0:10:00; want at least 6" in ours.process.output()
    )


def test_it_uses_exactly_the_permissions_for_the_certificate(
    make_controlplane: Callable[[Options], ControlPlane], tmp_path: Path
) -> None:
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    everything = {"level": "Metadata", "users": [USER]}
    omitted = ["RequestReceived", "ResponseStarted"]
    audit = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": omitted, "rules": [everything]}
    policy.write_text(yaml.safe_dump(audit))
    flags = (f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-mode=blocking")
    plane = make_controlplane(Options(apiserver_flags=flags))
    with Installation(plane) as installation, running_controller(plane, environment=installation.settings()):
        assert installation.in_place()
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [each["requestURI"] for each in entries if each["responseStatus"]["code"] in (401, 403)] == []
    references = [(each["objectRef"], each["verb"]) for each in entries if "resource" in each.get("objectRef", {})]
    used = {(reference["resource"], reference.get("name"), verb) for reference, verb in references}
    about = {"secrets", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
    granted = {
        (resource, installation.name, verb)
        for rule in [*rules(installation.name, installation.name)[0], *rules(installation.name, installation.name)[1]]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert {each for each in used if each[0] in about} == granted
