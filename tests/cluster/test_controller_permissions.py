"""The controller uses every permission that the chart grants it, and needs no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from testbed.claims import claim, request
from testbed.controllers import RULES, USER, grant_controller_rbac, running_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED, create_all, injected_pod
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.servers import Options
from testbed.waiting import wait_for

pytestmark = pytest.mark.cluster

LEASES = {("leases", "create"), ("leases", "get"), ("leases", "update")}

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata", "users": [USER]}, {"level": "None"}],
}


def test_the_controller_uses_all_of_its_permissions_and_no_call_is_forbidden(
    make_controlplane: Callable[[Options], ControlPlane], tmp_path: Path
) -> None:
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(yaml.safe_dump(AUDIT_POLICY))
    plane = make_controlplane(
        Options(
            apiserver_flags=(f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-mode=blocking")
        )
    )
    namespace = Namespace(plane.api())
    namespace.create(claim("llama-7b-claim-0123456789", request("gpu.nvidia.com")))
    namespace.create(pod("not-injected", annotations=ANNOTATED))
    namespace.create(injected_pod("blocked", claim="llama-7b-claim-0123456789"))
    # Twice: an existing Event is patched.
    for number in range(2):
        with running_controller(plane) as ours:
            create_all(namespace, [injected_pod(f"llama-{number}")])
            wait_for("its claim is there", namespace.claims, lambda claims: len(claims) == number + 2)  # noqa: B023
            for reason in ("ClaimNameTaken", "NotInjected"):
                labels = {"result": "written", "reason": reason}
                wait_for(f"{reason} is reported", lambda: ours.metric("modelfit_events_total", **labels) == 1)  # noqa: B023
    # The log has a watch when it ends. Discovery needs no permission and has no objectRef.
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    used = {
        (entry["objectRef"]["resource"], entry["verb"]) for entry in entries if "resource" in entry.get("objectRef", {})
    }
    forbidden = [entry["requestURI"] for entry in entries if entry["responseStatus"]["code"] in (401, 403)]
    assert forbidden == []
    granted = {
        (resource, verb)
        for rule in yaml.safe_load(RULES.read_text())
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert used == granted | LEASES


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("delete", "resourceclaims"),
        ("update", "resourceclaims"),
        ("patch", "resourceclaims"),
        ("update", "resourceclaims/binding"),
        ("create", "pods"),
        ("delete", "pods"),
        ("get", "secrets"),
        ("list", "secrets"),
        ("get", "configmaps"),
        ("update", "leases"),
        ("create", "resourceclaimtemplates"),
    ],
)
def test_the_controller_may_not(verb: str, resource: str, controlplane: ControlPlane, namespace: Namespace) -> None:
    grant_controller_rbac(controlplane)
    resource, _, subresource = resource.partition("/")
    flags = ["--subresource", subresource] if subresource else []
    answer = controlplane.kubectl(
        "auth", "can-i", verb, resource, *flags, f"--as={USER}", f"--namespace={namespace.name}"
    )
    assert answer.stdout.strip() == "no", answer.stderr
