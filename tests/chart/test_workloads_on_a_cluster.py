"""kubectl's output for workloads with an annotated pod template, with the chart installed."""

import json

import pytest

from testbed.kubectl import Result
from testbed.paths import path
from testbed.waiting import wait_for
from tests.chart.helm import Helm
from tests.chart.installing import ANNOTATION, MODEL_FIT, NAMESPACE, RELEASE, Cluster
from tests.chart.rendering import JsonObject, Values
from tests.core.builders import WORKLOADS, pod, workload

pytestmark = [pytest.mark.chart, pytest.mark.cluster, pytest.mark.timeout(600)]

FAST_SHUTDOWN: Values = {"webhook": {"preStopSeconds": 2}, "config": {"drainSeconds": 1}}
WEBHOOK = "workloads.modelfit.llmfit.ai"
BAD = '{"min_vram_gb": -8}'


def manifest(kind: str, fit: str | None, name: str = "llama", **metadata: object) -> JsonObject:
    """A workload of that kind that the API server accepts, with 0 replicas if it has replicas."""
    labels = {"app": name}
    template = pod(fit, metadata={"labels": labels}, restartPolicy="Never" if WORKLOADS[kind] == "batch" else "Always")
    if fit is not None:
        template["metadata"]["annotations"] = {ANNOTATION: fit}
    manifest = workload(kind, template, name=name, **metadata)
    if WORKLOADS[kind] != "batch":
        manifest["spec"]["selector"] = labels if kind == "ReplicationController" else {"matchLabels": labels}
        manifest["spec"] |= {} if kind == "DaemonSet" else {"replicas": 0}
    return manifest


def kubectl(cluster: Cluster, *arguments: str, input: JsonObject | None = None) -> Result:
    """Runs kubectl in the team's namespace."""
    return cluster.plane.kubectl(*arguments, "--namespace", cluster.team.name, input=input)


def apply(cluster: Cluster, manifest: JsonObject, *arguments: str) -> Result:
    return kubectl(cluster, "apply", "--filename=-", *arguments, input=manifest)


def wait_for_validation(cluster: Cluster) -> None:
    """Waits until an invalid workload is denied."""
    probe = manifest("Deployment", BAD, "probe")
    wait_for(
        "workloads are validated", lambda: apply(cluster, probe, "--dry-run=server"), lambda result: result.returncode
    )


def calls(cluster: Cluster) -> float:
    """Number of calls of the workloads webhook that the API server made or tried."""
    answered = cluster.plane.metric("apiserver_admission_webhook_request_total", name=WEBHOOK)
    return answered + cluster.plane.metric("apiserver_admission_webhook_fail_open_count", name=WEBHOOK)


def test_a_workload_with_an_invalid_annotation_is_denied_when_it_is_applied(cluster: Cluster, helm: Helm) -> None:
    apply(cluster, manifest("Deployment", BAD, "older")).ok()
    cluster.install(helm, FAST_SHUTDOWN)
    wait_for_validation(cluster)
    for kind in WORKLOADS:
        where = "spec.jobTemplate.spec.template" if kind == "CronJob" else "spec.template"
        for dry_run in ([], ["--dry-run=server"]):
            refused = apply(cluster, manifest(kind, BAD), *dry_run)
            assert refused.returncode == 1
            assert f'admission webhook "{WEBHOOK}" denied the request' in refused.stderr
            assert f'{where}.metadata.annotations[{ANNOTATION}].min_vram_gb: "-8", below zero' in refused.stderr
        (warning,) = apply(cluster, manifest(kind, MODEL_FIT)).ok().warnings
        expected = f'modelfit: {kind} llama: each pod gets a claim for "server": gpu.nvidia.com (gpu.memory 8Gi)'
        assert warning.startswith(expected)
    # Updates that do not change the annotation do not call the webhook.
    before = calls(cluster)
    for kind in WORKLOADS:
        assert apply(cluster, manifest(kind, MODEL_FIT)).ok().warnings == ()
        apply(cluster, manifest(kind, MODEL_FIT, annotations={"some": "note"})).ok()
        apply(cluster, manifest(kind, None, "plain")).ok()
        apply(cluster, manifest(kind, None, "plain", annotations={"some": "note"})).ok()
    assert calls(cluster) == before
    check_misplaced_annotations_warn_once(cluster)
    both = [manifest("Deployment", MODEL_FIT, name) for name in ("one", "two")]
    warnings = apply(cluster, {"apiVersion": "v1", "kind": "List", "items": both}).ok().warnings
    assert [each.partition(": each pod")[0] for each in warnings] == [
        "modelfit: Deployment one",
        "modelfit: Deployment two",
    ]
    refused = kubectl(cluster, "patch", "deployment", "llama", "--type=merge", f"--patch={patch(BAD)}")
    assert refused.returncode == 1
    assert "below zero" in refused.stderr

    # A Deployment that is older than the webhook can be changed, except for its annotation.
    before = calls(cluster)
    kubectl(cluster, "scale", "deployment/older", "--replicas=2").ok()
    kubectl(cluster, "set", "image", "deployment/older", "server=registry.invalid/app:2").ok()
    kubectl(cluster, "rollout", "restart", "deployment/older").ok()
    wait_for("each rollout has its ReplicaSet", lambda: replica_sets(cluster, "older"), lambda found: len(found) == 3)
    newest = max(replica_sets(cluster, "older"), key=lambda found: int(revision(found)))
    wait_for(
        "its pods are refused with the reason",
        lambda: kubectl(cluster, "describe", "replicaset", newest["metadata"]["name"]).stdout,
        lambda output: "below zero" in output,
    )
    assert calls(cluster) == before
    warning = (
        kubectl(cluster, "patch", "deployment", "older", "--type=merge", f"--patch={patch(MODEL_FIT)}").ok().warnings[0]
    )
    assert warning.startswith("modelfit: Deployment older: each pod gets a claim")
    created = wait_for("a pod is created", lambda: pods(cluster, "older"))
    cluster.team.wait_bound(created[0]["metadata"]["name"])

    kubectl(cluster, "create", "job", "run", "--from=cronjob/llama").ok()
    kubectl(cluster, "delete", *(f"{kind.lower()}/llama" for kind in WORKLOADS), "--wait=false").ok()


def check_misplaced_annotations_warn_once(cluster: Cluster) -> None:
    """An annotation on the workload instead of its template draws a warning when it is set. The copy that a Deployment
    makes on its ReplicaSets does not."""
    before = calls(cluster)
    for kind in WORKLOADS:
        path = "spec.jobTemplate.spec.template" if kind == "CronJob" else "spec.template"
        (warning,) = apply(cluster, manifest(kind, None, "outside", annotations={ANNOTATION: MODEL_FIT})).ok().warnings
        assert warning == (
            f"modelfit: {kind} outside: metadata.annotations[{ANNOTATION}]: pods do not inherit it; move it to "
            f"{path}.metadata.annotations"
        )
        noted = manifest(kind, None, "outside", annotations={ANNOTATION: MODEL_FIT, "some": "note"})
        assert apply(cluster, noted).ok().warnings == ()
        (warning,) = apply(cluster, manifest(kind, None, "outside", annotations={ANNOTATION: BAD})).ok().warnings
        assert "pods do not inherit it" in warning
    created = wait_for("the ReplicaSet is created", lambda: replica_sets(cluster, "outside"))
    assert ANNOTATION in created[0]["metadata"]["annotations"]
    assert calls(cluster) == before + 2 * len(WORKLOADS)
    kubectl(cluster, "delete", *(f"{kind.lower()}/outside" for kind in WORKLOADS), "--wait=false").ok()


def test_by_default_workloads_can_be_applied_without_a_webhook(cluster: Cluster, helm: Helm) -> None:
    cluster.install(helm, FAST_SHUTDOWN)
    wait_for_validation(cluster)
    cluster.api.patch(path("Deployment", NAMESPACE, f"{RELEASE}-webhook"), {"spec": {"replicas": 0}})
    wait_for("the webhook has ended", lambda: cluster.kubelet.running("webhook"), lambda pods: not pods)
    for kind in WORKLOADS:
        apply(cluster, manifest(kind, MODEL_FIT)).ok()
        apply(cluster, manifest(kind, BAD, "bad")).ok()
    assert cluster.plane.metric("apiserver_admission_webhook_fail_open_count", name=WEBHOOK) >= 2 * len(WORKLOADS)


def test_with_failure_policy_fail_workloads_are_refused_without_a_webhook(cluster: Cluster, helm: Helm) -> None:
    strict: Values = {
        **FAST_SHUTDOWN,
        "admission": {"workloads": {"failurePolicy": "Fail"}, "excludedNamespaces": ["excluded"]},
    }
    cluster.make_namespace("excluded")
    for kind in WORKLOADS:
        apply(cluster, manifest(kind, BAD, "older")).ok()
    cluster.install(helm, strict)
    wait_for_validation(cluster)
    cluster.api.patch(path("Deployment", NAMESPACE, f"{RELEASE}-webhook"), {"spec": {"replicas": 0}})
    wait_for("the webhook has ended", lambda: cluster.kubelet.running("webhook"), lambda pods: not pods)
    for kind in WORKLOADS:
        refused = apply(cluster, manifest(kind, MODEL_FIT))
        assert refused.returncode == 1
        assert f'failed calling webhook "{WEBHOOK}"' in refused.stderr
        # Requests that do not call the webhook are accepted.
        apply(cluster, manifest(kind, None, "plain")).ok()
        cluster.plane.kubectl("apply", "--namespace=excluded", "--filename=-", input=manifest(kind, BAD)).ok()
        kubectl(cluster, "annotate", kind.lower(), "older", "some=note").ok()
        kubectl(
            cluster, "patch", kind.lower(), "older", "--type=merge", '--patch={"metadata":{"finalizers":["x.y/z"]}}'
        ).ok()
        kubectl(cluster, "delete", f"{kind.lower()}/older", "--wait=false").ok()
        kubectl(
            cluster, "patch", kind.lower(), "older", "--type=merge", '--patch={"metadata":{"finalizers":null}}'
        ).ok()
    kubectl(cluster, "wait", "--for=delete", *(f"{kind.lower()}/older" for kind in WORKLOADS), "--timeout=30s").ok()


def patch(fit: str) -> str:
    """A merge patch that sets the annotation in a pod template."""
    return json.dumps({"spec": {"template": {"metadata": {"annotations": {ANNOTATION: fit}}}}})


def replica_sets(cluster: Cluster, app: str) -> list[JsonObject]:
    return cluster.api.list(path("ReplicaSet", cluster.team.name), labelSelector=f"app={app}")


def revision(replica_set: JsonObject) -> str:
    return str(replica_set["metadata"]["annotations"]["deployment.kubernetes.io/revision"])


def pods(cluster: Cluster, app: str) -> list[JsonObject]:
    return cluster.api.list(path("Pod", cluster.team.name), labelSelector=f"app={app}")
