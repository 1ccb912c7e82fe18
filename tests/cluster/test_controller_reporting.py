"""What the controller reports: rate-limited Events, logs, probes and metrics."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
import yaml

from testbed.claims import claim, request
from testbed.controllers import NAMESPACE, NO_LEADER_ELECTION, RULES, controller, running_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import create_all, injected_pod, wait_each_pod_has_its_claim
from testbed.namespaces import Namespace
from testbed.paths import path
from testbed.rbac import grant
from testbed.servers import Options
from testbed.waiting import consistently, wait_for

pytestmark = pytest.mark.cluster


def test_a_missing_permission_is_reported(controlplane: ControlPlane, namespace: Namespace) -> None:
    user = f"system:serviceaccount:{NAMESPACE}:limited"
    rules = yaml.safe_load(RULES.read_text())
    for rule in rules:
        rule["verbs"] = [verb for verb in rule["verbs"] if rule["resources"] != ["resourceclaims"] or verb != "create"]
    grant(controlplane.api(), user, rules, name="limited-by-test")
    with running_controller(controlplane, kubeconfig=controlplane.kubeconfig(user), environment=NO_LEADER_ELECTION):
        namespace.create(injected_pod("llama"))
        (event,) = wait_for("the pod has its Event", lambda: namespace.events(name="llama", reason="Forbidden"))
        assert "modelfit's service account lacks the permission (RBAC)" in event["message"]
        assert 'cannot create resource "resourceclaims"' in event["message"]


def test_a_pod_in_a_terminating_namespace_is_not_retried(
    make_controlplane: Callable[[Options], ControlPlane],
) -> None:
    """Without kube-controller-manager the namespace stays terminating. The API server accepts no Event there either."""
    plane = make_controlplane(Options())
    namespace = Namespace(plane.api())
    namespace.create(injected_pod("llama"))
    plane.controller_manager.stop()
    plane.api().delete(path("Namespace", None, namespace.name))
    with running_controller(plane) as ours:
        reason = "NamespaceTerminating"
        wait_for("it was tried once", lambda: ours.metric("modelfit_reconcile_total", result=reason) == 1)
        consistently(
            "it is not retried",
            lambda: ours.metric("modelfit_reconcile_total", result=reason),
            lambda count: count == 1,
            seconds=3,
        )
        assert ours.metric("modelfit_queue_retrying") == 0
        assert namespace.claims() == []


def test_the_events_of_many_pods_are_rate_limited(controlplane: ControlPlane, namespace: Namespace) -> None:
    """A burst of 25 per namespace, then one per second."""
    namespace.create(claim("foreign-claim-0123456789", request("gpu.nvidia.com")))
    create_all(namespace, [injected_pod(f"llama-{number}", claim="foreign-claim-0123456789") for number in range(200)])
    with running_controller(controlplane) as ours:
        started = time.monotonic()
        taken = {"result": "ClaimNameTaken"}
        wait_for("all pods are reconciled", lambda: ours.metric("modelfit_reconcile_total", **taken) >= 200)
        written = len(namespace.events(reason="ClaimNameTaken"))
        assert 1 <= written <= 25 + (time.monotonic() - started) + 1
        assert ours.metric("modelfit_events_total", reason="ClaimNameTaken", result="suppressed") > 0
    # After a restart the same Events are updated.
    with running_controller(controlplane) as ours:
        wait_for("Events are written", lambda: ours.metric("modelfit_events_total", result="written") >= 25)
        names = [each["involvedObject"]["name"] for each in namespace.events(reason="ClaimNameTaken")]
        assert len(names) == len(set(names))


def test_the_log_is_json_without_the_token(controlplane: ControlPlane, namespace: Namespace) -> None:
    made = controller(controlplane, environment=NO_LEADER_ELECTION | {"MODELFIT_LOG_LEVEL": "debug"})
    try:
        made.start()
        namespace.create(injected_pod("llama"))
        wait_each_pod_has_its_claim(namespace)
        assert made.process.stop() == 0
    finally:
        made.process.kill()
    lines = [json.loads(line) for line in made.process.output().splitlines()]
    assert any(line["msg"] == "created ResourceClaim" and line["name"] == "llama" for line in lines)
    assert "Bearer" not in made.process.output()
    assert "eyJ" not in made.process.output()


def test_probes_and_metrics_are_served_in_plain_http(controlplane: ControlPlane, namespace: Namespace) -> None:
    with running_controller(controlplane) as ours:
        namespace.create(injected_pod("llama"))
        wait_each_pod_has_its_claim(namespace)
        assert ours.get("/healthz") == (200, "ok\n")
        assert ours.get("/readyz") == (200, "ok\n")
        assert ours.get("/elsewhere") == (404, "want one of /healthz, /readyz, /metrics\n")
        assert ours.metric("modelfit_reconcile_total", result="ClaimCreated") == 1
        assert ours.metric("modelfit_claim_create_duration_seconds_count") == 1
        assert ours.metric("modelfit_leader") == 1
        assert ours.metric("modelfit_queue_depth") == ours.metric("modelfit_queue_oldest_seconds") == 0


def test_a_port_in_use_is_a_usage_error(controlplane: ControlPlane) -> None:
    with running_controller(controlplane) as ours:
        second = controller(controlplane)
        taken = ours.url.rpartition(":")[2]
        second.process.arguments[-1] = taken
        second.process.start()
        assert second.process.wait() == 2
        assert f"--metrics-port {taken}: Address already in use; want an address" in second.process.output()
