"""What it tells when it is not a pod's fault, or that of many pods: Events in moderation, logs, probes and metrics."""

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


def test_a_missing_permission_is_told_about(controlplane: ControlPlane, namespace: Namespace) -> None:
    user = f"system:serviceaccount:{NAMESPACE}:limited"
    rules = yaml.safe_load(RULES.read_text())
    for rule in rules:
        rule["verbs"] = [verb for verb in rule["verbs"] if rule["resources"] != ["resourceclaims"] or verb != "create"]
    grant(controlplane.api(), user, rules, name="limited-by-test")
    with running_controller(controlplane, kubeconfig=controlplane.kubeconfig(user), environment=NO_LEADER_ELECTION):
        namespace.create(injected_pod("llama"))
        (told,) = wait_for("the pod has its Event", lambda: namespace.events(name="llama", reason="Forbidden"))
        assert "modelfit's service account lacks the permission (RBAC)" in told["message"]
        assert 'cannot create resource "resourceclaims"' in told["message"]


def test_a_namespace_that_is_being_deleted_is_not_tried_again(
    make_controlplane: Callable[[Options], ControlPlane],
) -> None:
    """Without kube-controller-manager it stays so, with its pods. The API server takes no Event there either."""
    plane = make_controlplane(Options())
    namespace = Namespace(plane.api())
    namespace.create(injected_pod("llama"))
    plane.controller_manager.stop()
    plane.api().delete(path("Namespace", None, namespace.name))
    with running_controller(plane) as ours:
        kind = "NamespaceTerminating"
        wait_for("it has tried", lambda: ours.metric("modelfit_reconcile_total", result=kind) == 1)
        consistently(
            "it does not try again",
            lambda: ours.metric("modelfit_reconcile_total", result=kind),
            lambda count: count == 1,
            seconds=3,
        )
        assert ours.metric("modelfit_queue_retrying") == 0
        assert namespace.claims() == []


def test_many_pods_that_wait_for_one_reason_do_not_flood(controlplane: ControlPlane, namespace: Namespace) -> None:
    """At most a burst of 25 for a namespace, and then one a second."""
    namespace.create(claim("foreign-claim-0123456789", request("gpu.nvidia.com")))
    create_all(namespace, [injected_pod(f"llama-{number}", claim="foreign-claim-0123456789") for number in range(200)])
    with running_controller(controlplane) as ours:
        began = time.monotonic()
        taken = {"result": "ClaimNameTaken"}
        wait_for("all were looked at", lambda: ours.metric("modelfit_reconcile_total", **taken) >= 200)
        told = len(namespace.events(reason="ClaimNameTaken"))
        assert 1 <= told <= 25 + (time.monotonic() - began) + 1
        assert ours.metric("modelfit_events_total", reason="ClaimNameTaken", result="suppressed") > 0
    # A fresh start says it again on the same Events.
    with running_controller(controlplane) as ours:
        wait_for("it has told", lambda: ours.metric("modelfit_events_total", result="written") >= 25)
        names = [each["involvedObject"]["name"] for each in namespace.events(reason="ClaimNameTaken")]
        assert len(names) == len(set(names))


def test_what_it_did_is_in_the_log_as_json_and_without_the_token(
    controlplane: ControlPlane, namespace: Namespace
) -> None:
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


def test_probes_and_metrics_are_answered_in_plain_http(controlplane: ControlPlane, namespace: Namespace) -> None:
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


def test_a_port_that_is_taken_stops_the_start_and_says_so(controlplane: ControlPlane) -> None:
    with running_controller(controlplane) as ours:
        second = controller(controlplane)
        taken = ours.url.rpartition(":")[2]
        second.process.arguments[-1] = taken
        second.process.start()
        assert second.process.wait() == 2
        assert f"--metrics-port {taken}: Address already in use; want an address" in second.process.output()
