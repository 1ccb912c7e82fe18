"""What `kubectl` says of workloads whose pod template is annotated, with the chart as it is installed."""

import json

import pytest

from testbed.kubectl import Result
from testbed.paths import path
from testbed.waiting import wait_for
from tests.chart.helm import Helm
from tests.chart.installing import ANNOTATION, MODEL, NAMESPACE, RELEASE, Cluster
from tests.chart.rendering import JsonObject, Values
from tests.core.builders import WORKLOADS, pod, workload

pytestmark = [pytest.mark.chart, pytest.mark.cluster, pytest.mark.timeout(600)]

QUICK: Values = {"webhook": {"preStopSeconds": 2}, "config": {"drainSeconds": 1}}
WEBHOOK = "workloads.modelfit.llmfit.ai"
BAD = '{"min_vram_gb": -8}'


def manifest(kind: str, fit: str | None, name: str = "llama", **metadata: object) -> JsonObject:
    """A workload of that kind that the API server accepts; one that has replicas has none."""
    labels = {"app": name}
    template = pod(fit, metadata={"labels": labels}, restartPolicy="Never" if WORKLOADS[kind] == "batch" else "Always")
    if fit is not None:
        template["metadata"]["annotations"] = {ANNOTATION: fit}
    made = workload(kind, template, name=name, **metadata)
    if WORKLOADS[kind] != "batch":
        made["spec"]["selector"] = labels if kind == "ReplicationController" else {"matchLabels": labels}
        made["spec"] |= {} if kind == "DaemonSet" else {"replicas": 0}
    return made


def kubectl(cluster: Cluster, *arguments: str, input: JsonObject | None = None) -> Result:
    """kubectl in the team's namespace."""
    return cluster.plane.kubectl(*arguments, "--namespace", cluster.team.name, input=input)


def apply(cluster: Cluster, manifest: JsonObject, *arguments: str) -> Result:
    return kubectl(cluster, "apply", "--filename=-", *arguments, input=manifest)


def wait_looked_at(cluster: Cluster) -> None:
    """Until workloads are looked at."""
    probe = manifest("Deployment", BAD, "probe")
    wait_for("workloads are looked at", lambda: apply(cluster, probe, "--dry-run=server"), lambda seen: seen.returncode)


def calls(cluster: Cluster) -> float:
    """How often the API server has asked about workloads, or would have."""
    answered = cluster.plane.metric("apiserver_admission_webhook_request_total", name=WEBHOOK)
    return answered + cluster.plane.metric("apiserver_admission_webhook_fail_open_count", name=WEBHOOK)


def test_an_annotation_that_cannot_be_used_is_refused_when_a_workload_is_applied(cluster: Cluster, helm: Helm) -> None:
    apply(cluster, manifest("Deployment", BAD, "older")).ok()
    cluster.install(helm, QUICK)
    wait_looked_at(cluster)
    for kind in WORKLOADS:
        where = "spec.jobTemplate.spec.template" if kind == "CronJob" else "spec.template"
        for dry_run in ([], ["--dry-run=server"]):
            refused = apply(cluster, manifest(kind, BAD), *dry_run)
            assert refused.returncode == 1
            assert f'admission webhook "{WEBHOOK}" denied the request' in refused.stderr
            assert f'{where}.metadata.annotations[{ANNOTATION}].min_vram_gb: "-8", below zero' in refused.stderr
        (told,) = apply(cluster, manifest(kind, MODEL)).ok().warnings
        begins = f'modelfit: {kind} llama: each pod gets a claim for "server": gpu.nvidia.com (gpu.memory 8Gi)'
        assert told.startswith(begins)
    # Once applied, nobody has to be asked any more.
    before = calls(cluster)
    for kind in WORKLOADS:
        assert apply(cluster, manifest(kind, MODEL)).ok().warnings == ()
        apply(cluster, manifest(kind, MODEL, annotations={"some": "note"})).ok()
        apply(cluster, manifest(kind, None, "plain")).ok()
        apply(cluster, manifest(kind, None, "plain", annotations={"some": "note"})).ok()
    assert calls(cluster) == before
    misplaced_annotations_are_told_of_once(cluster)
    both = [manifest("Deployment", MODEL, name) for name in ("one", "two")]
    warnings = apply(cluster, {"apiVersion": "v1", "kind": "List", "items": both}).ok().warnings
    assert [warning.partition(": each pod")[0] for warning in warnings] == [
        "modelfit: Deployment one",
        "modelfit: Deployment two",
    ]
    refused = kubectl(cluster, "patch", "deployment", "llama", "--type=merge", f"--patch={patch(BAD)}")
    assert refused.returncode == 1
    assert "below zero" in refused.stderr

    # One that was there before can be changed in all but its annotation, and its ReplicaSets with it.
    before = calls(cluster)
    kubectl(cluster, "scale", "deployment/older", "--replicas=2").ok()
    kubectl(cluster, "set", "image", "deployment/older", "server=registry.invalid/app:2").ok()
    kubectl(cluster, "rollout", "restart", "deployment/older").ok()
    wait_for("each rollout has its ReplicaSet", lambda: replica_sets(cluster, "older"), lambda found: len(found) == 3)
    newest = max(replica_sets(cluster, "older"), key=lambda found: int(revision(found)))
    wait_for(
        "its pods are refused with the reason",
        lambda: kubectl(cluster, "describe", "replicaset", newest["metadata"]["name"]).stdout,
        lambda said: "below zero" in said,
    )
    assert calls(cluster) == before
    told = kubectl(cluster, "patch", "deployment", "older", "--type=merge", f"--patch={patch(MODEL)}").ok().warnings[0]
    assert told.startswith("modelfit: Deployment older: each pod gets a claim")
    made = wait_for("a pod of it comes", lambda: pods(cluster, "older"))
    cluster.team.wait_bound(made[0]["metadata"]["name"])

    kubectl(cluster, "create", "job", "run", "--from=cronjob/llama").ok()
    kubectl(cluster, "delete", *(f"{kind.lower()}/llama" for kind in WORKLOADS), "--wait=false").ok()


def misplaced_annotations_are_told_of_once(cluster: Cluster) -> None:
    """On the workload instead of its template: a warning when it is put there, and what a Deployment hands on to its
    ReplicaSets is nobody's mistake."""
    before = calls(cluster)
    for kind in WORKLOADS:
        path = "spec.jobTemplate.spec.template" if kind == "CronJob" else "spec.template"
        (told,) = apply(cluster, manifest(kind, None, "outside", annotations={ANNOTATION: MODEL})).ok().warnings
        assert told == (
            f"modelfit: {kind} outside: metadata.annotations[{ANNOTATION}]: pods do not inherit it; move it to "
            f"{path}.metadata.annotations"
        )
        noted = manifest(kind, None, "outside", annotations={ANNOTATION: MODEL, "some": "note"})
        assert apply(cluster, noted).ok().warnings == ()
        (told,) = apply(cluster, manifest(kind, None, "outside", annotations={ANNOTATION: BAD})).ok().warnings
        assert "pods do not inherit it" in told
    made = wait_for("there is its ReplicaSet", lambda: replica_sets(cluster, "outside"))
    assert ANNOTATION in made[0]["metadata"]["annotations"]
    assert calls(cluster) == before + 2 * len(WORKLOADS)
    kubectl(cluster, "delete", *(f"{kind.lower()}/outside" for kind in WORKLOADS), "--wait=false").ok()


def test_workloads_can_be_applied_while_no_webhook_answers(cluster: Cluster, helm: Helm) -> None:
    cluster.install(helm, QUICK)
    wait_looked_at(cluster)
    cluster.api.patch(path("Deployment", NAMESPACE, f"{RELEASE}-webhook"), {"spec": {"replicas": 0}})
    wait_for("the webhook has ended", lambda: cluster.kubelet.running("webhook"), lambda pods: not pods)
    for kind in WORKLOADS:
        apply(cluster, manifest(kind, MODEL)).ok()
        apply(cluster, manifest(kind, BAD, "bad")).ok()
    assert cluster.plane.metric("apiserver_admission_webhook_fail_open_count", name=WEBHOOK) >= 2 * len(WORKLOADS)


def test_where_no_webhook_answers_workloads_are_refused_if_the_operator_wants_it_so(
    cluster: Cluster, helm: Helm
) -> None:
    strict: Values = {**QUICK, "admission": {"workloads": {"failurePolicy": "Fail"}, "excludedNamespaces": ["spared"]}}
    cluster.make_namespace("spared")
    for kind in WORKLOADS:
        apply(cluster, manifest(kind, BAD, "older")).ok()
    cluster.install(helm, strict)
    wait_looked_at(cluster)
    cluster.api.patch(path("Deployment", NAMESPACE, f"{RELEASE}-webhook"), {"spec": {"replicas": 0}})
    wait_for("the webhook has ended", lambda: cluster.kubelet.running("webhook"), lambda pods: not pods)
    for kind in WORKLOADS:
        refused = apply(cluster, manifest(kind, MODEL))
        assert refused.returncode == 1
        assert f'failed calling webhook "{WEBHOOK}"' in refused.stderr
        # Not so what nobody has to be asked about.
        apply(cluster, manifest(kind, None, "plain")).ok()
        cluster.plane.kubectl("apply", "--namespace=spared", "--filename=-", input=manifest(kind, BAD)).ok()
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
    """A change of a Deployment's annotation."""
    return json.dumps({"spec": {"template": {"metadata": {"annotations": {ANNOTATION: fit}}}}})


def replica_sets(cluster: Cluster, app: str) -> list[JsonObject]:
    return cluster.api.list(path("ReplicaSet", cluster.team.name), labelSelector=f"app={app}")


def revision(replica_set: JsonObject) -> str:
    return str(replica_set["metadata"]["annotations"]["deployment.kubernetes.io/revision"])


def pods(cluster: Cluster, app: str) -> list[JsonObject]:
    return cluster.api.list(path("Pod", cluster.team.name), labelSelector=f"app={app}")
