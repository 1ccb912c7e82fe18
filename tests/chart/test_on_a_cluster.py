"""The chart installed by helm on a real control plane, with its pods run as local processes: see `testbed.node`."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from testbed.api import ApiError, collection_of
from testbed.node.pod import LocalPod
from testbed.paths import path
from testbed.waiting import wait_for
from tests.chart.helm import Helm, HelmFailed
from tests.chart.installing import ANNOTATION, NAMESPACE, RELEASE, Cluster, PodTraffic, injected, labelled
from tests.chart.matrix import MATRIX, MAX_NAMESPACE, MAX_RELEASE
from tests.chart.rendering import JsonObject, Values, render
from tools.generate.chart_values import CHART

pytestmark = [pytest.mark.chart, pytest.mark.cluster, pytest.mark.timeout(600)]

OURS = f"app.kubernetes.io/instance={RELEASE}"
PARTS = ("webhook", "controller")
FAST_SHUTDOWN: Values = {"webhook": {"preStopSeconds": 2}, "config": {"drainSeconds": 1}}
"""Endpoints are stale for one second in the test bed, so two seconds of preStop suffice."""


def test_every_rendered_object_is_accepted_by_the_api_server(cluster: Cluster, helm: Helm) -> None:
    create_crds(cluster)
    # A dry run creates nothing, and the pod of `helm test` needs its ServiceAccount.
    account = {"name": f"{RELEASE}-helm-test", "namespace": NAMESPACE}
    cluster.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    kinds: set[str] = set()
    for name, values in MATRIX.items():
        for each in render(helm, values, release=RELEASE, namespace=NAMESPACE).objects:
            if each["kind"] == "ServiceAccount" and each["metadata"]["name"] == account["name"]:
                continue
            kinds.add(each["kind"])
            where = find_collection(cluster, each)
            answer = cluster.api.send("POST", where, each, query={"dryRun": "All", "fieldValidation": "Strict"})
            message = f"{name}: {each['kind']} {each['metadata']['name']}: {answer.body.get('message')}"
            assert answer.status == 201, message
            assert not answer.warnings, f"{message} {answer.warnings}"
    assert kinds >= {"ServiceMonitor", "PodMonitor", "PrometheusRule", "Certificate", "Issuer"}


def test_a_release_from_installation_to_removal(cluster: Cluster, every_helm: Helm, tmp_path: Path) -> None:
    helm, values = every_helm, FAST_SHUTDOWN
    previous = chart_of_previous_version(tmp_path)

    def check_injection(step: str) -> None:
        answer = cluster.create_pod()
        assert injected(answer), f"after {step}: {answer.body.get('message')}"

    cluster.install(helm, values, previous)
    cluster.wait_ready()
    cluster.helm(helm, "test", RELEASE)
    with PodTraffic(cluster) as traffic:
        steps: list[tuple[str, Callable[[], object]]] = [
            ("an upgrade from the previous chart", lambda: cluster.upgrade(helm, values)),
            ("an upgrade without a change", lambda: cluster.upgrade(helm, values)),
            ("an upgrade with other values", lambda: cluster.upgrade(helm, {**values, "commonLabels": {"a": "b"}})),
            ("a rollback", lambda: cluster.helm(helm, "rollback", RELEASE, "--wait", "--timeout", "200s")),
        ]
        for step, action in steps:
            action()
            check_injection(step)
    assert traffic.pods > 20
    assert traffic.errors == []
    # The controller of the release runs with the permissions of the release.
    for each in cluster.team.pods():
        cluster.team.wait_bound(each["metadata"]["name"])
    assert len(cluster.team.claims()) == len(steps)
    check_nothing_is_forbidden(cluster)

    with PodTraffic(cluster) as traffic:
        cluster.helm(helm, "uninstall", RELEASE, "--wait", "--timeout", "200s")
        assert cluster.create_pod().status == 201
        assert cluster.create_pod(annotated=False).status == 201
    # Helm 3 deletes the Service shortly before the webhook configurations. After both, pods are not injected.
    expected = ('service "modelfit" not found', "admitted, but not injected")
    assert [each for each in traffic.errors if not each.endswith(expected)] == []
    wait_for("the pods have ended", lambda: cluster.kubelet.running(), lambda pods: not pods)
    wait_for("all objects are deleted", lambda: labelled(cluster.api, OURS), lambda found: not found)
    assert leases(cluster) == [f"{RELEASE}-controller"]


def test_helm_test_fails_if_pods_are_not_injected(cluster: Cluster, every_helm: Helm) -> None:
    cluster.install(every_helm, FAST_SHUTDOWN)
    cluster.api.delete(path("MutatingWebhookConfiguration", None, RELEASE))
    cluster.api.delete(path("ValidatingWebhookConfiguration", None, RELEASE))
    with pytest.raises(HelmFailed, match="modelfit-helm-test"):
        cluster.helm(every_helm, "test", RELEASE, "--timeout", "120s")
    (pod,) = cluster.kubelet.running("test")
    assert "the webhook was not called" in pod.output()
    # The pod is kept for its log, its permissions are deleted, and it does not block the removal.
    assert [each for each in labelled(cluster.api, OURS) if "helm-test" in each] == [f"Pod {NAMESPACE}/{pod.name}"]
    cluster.helm(every_helm, "uninstall", RELEASE, "--wait", "--timeout", "200s")
    cluster.api.delete(path("Pod", NAMESPACE, pod.name))
    wait_for("all objects are deleted", lambda: labelled(cluster.api, OURS), lambda found: not found)


def test_pods_recreated_after_a_failed_upgrade_keep_their_settings(cluster: Cluster, helm: Helm) -> None:
    cluster.install(helm, FAST_SHUTDOWN)
    cluster.wait_ready()
    before = cluster.kubelet.running()
    # Only the program checks the length.
    selectors = ["true || " * 1100 + "true"] * 4
    profile = {"driver": "gpu.example", "deviceClasses": ["a"], "selectors": selectors}
    invalid: Values = {**FAST_SHUTDOWN, "config": {"drainSeconds": 1, "profiles": {"own": profile}}}
    with pytest.raises(HelmFailed):
        cluster.helm(helm, "upgrade", RELEASE, "--wait", "--timeout", "10s", chart=CHART, values=invalid)
    wait_for("the new pods fail", lambda: [pod for pod in cluster.kubelet.running() if pod.restarts > 1])
    for pod in before:
        cluster.api.delete_if_exists(path("Pod", NAMESPACE, pod.name), force=True)
        assert pod.terminated.wait(60)
    cluster.wait_ready()
    cluster.team.wait_bound(cluster.create_pod().body["metadata"]["name"])


def test_excluded_pods_do_not_depend_on_the_webhook(cluster: Cluster, helm: Helm) -> None:
    cluster.install(helm, FAST_SHUTDOWN)
    cluster.wait_ready()
    cluster.make_namespace("disabled", **{"llmfit.ai/inject": "disabled"})
    cluster.wait_service_account("kube-system")
    calls = cluster.plane.metric("apiserver_admission_webhook_request_total")
    excluded = [("kube-system", True), (NAMESPACE, True), ("disabled", True), (cluster.team.name, False)]
    for namespace, annotated in excluded:
        assert cluster.create_pod(namespace, annotated=annotated).status == 201
    assert cluster.plane.metric("apiserver_admission_webhook_request_total") == calls

    for pod in cluster.kubelet.running():
        cluster.api.delete_if_exists(path("Pod", NAMESPACE, pod.name), force=True)
    # With all pods of modelfit deleted, other pods can be created, and those of modelfit are recreated.
    for namespace, annotated in excluded:
        assert cluster.create_pod(namespace, annotated=annotated).status == 201
    cluster.wait_ready()


def test_without_a_webhook_annotated_pods_are_refused_or_with_ignore_admitted_without_a_claim(
    cluster: Cluster, helm: Helm
) -> None:
    cluster.install(helm, FAST_SHUTDOWN)
    cluster.wait_ready()
    cluster.api.patch(path("Deployment", NAMESPACE, f"{RELEASE}-webhook"), {"spec": {"replicas": 0}})
    wait_for("the webhook has ended", lambda: cluster.kubelet.running("webhook"), lambda pods: not pods)
    refused = cluster.create_pod()
    assert refused.status == 500
    assert "failed calling webhook" in refused.body["message"]
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        found = cluster.api.get(path(kind, None, RELEASE))
        for hook in found["webhooks"]:
            hook["failurePolicy"] = "Ignore"
        cluster.api.put(path(kind, None, RELEASE), found)
    answer = wait_for("the pod is admitted", lambda: cluster.create_pod(), lambda answer: answer.status == 201)
    assert not injected(answer)


def test_existing_pods_can_be_updated_and_deleted_without_a_webhook(cluster: Cluster, helm: Helm) -> None:
    cluster.install(helm, FAST_SHUTDOWN)
    cluster.wait_ready()
    name = cluster.create_pod().body["metadata"]["name"]
    where = path("Pod", cluster.team.name, name)
    cluster.api.patch(where, {"metadata": {"finalizers": ["example.com/hold"]}})
    cluster.api.patch(path("Deployment", NAMESPACE, f"{RELEASE}-webhook"), {"spec": {"replicas": 0}})
    wait_for("the webhook has ended", lambda: cluster.kubelet.running("webhook"), lambda pods: not pods)

    cluster.api.patch(where, {"metadata": {"labels": {"seen": "true"}}})
    with pytest.raises(ApiError, match="failed calling webhook"):
        cluster.api.patch(where, {"metadata": {"annotations": {ANNOTATION: "{}"}}})
    cluster.api.delete(where, force=True)
    # An update of a deleted pod can remove a finalizer, even with an invalid annotation.
    cluster.api.patch(where, {"metadata": {"finalizers": None, "annotations": {ANNOTATION: "{}"}}})
    wait_for("the pod is gone", lambda: cluster.api.find(where), lambda found: found is None)


def test_a_release_with_the_longest_names_works(cluster: Cluster, helm: Helm) -> None:
    cluster.release, cluster.namespace = MAX_RELEASE, MAX_NAMESPACE
    cluster.make_namespace(MAX_NAMESPACE)
    cluster.install(helm, FAST_SHUTDOWN)
    cluster.wait_ready()
    name = cluster.create_pod().body["metadata"]["name"]
    cluster.team.wait_bound(name)
    cluster.helm(helm, "test", MAX_RELEASE)


def test_the_pods_of_a_release_expose_the_metrics_of_the_dashboard(cluster: Cluster, helm: Helm) -> None:
    cluster.install(helm, FAST_SHUTDOWN)
    cluster.wait_ready()
    cluster.team.wait_bound(cluster.create_pod().body["metadata"]["name"])
    metrics = {component: " ".join(map(LocalPod.metrics, cluster.kubelet.running(component))) for component in PARTS}
    assert 'modelfit_admission_reviews_total{operation="CREATE",outcome="allowed"' in metrics["webhook"]
    assert "modelfit_serving_certificate_expiry_timestamp_seconds" in metrics["webhook"]
    assert 'modelfit_reconcile_total{result="ClaimCreated"} 1.0' in metrics["controller"]
    assert sorted(re.findall(r"^modelfit_leader (\S+)", metrics["controller"], re.MULTILINE)) == ["0.0", "1.0"]


@pytest.mark.parametrize("mode", ["controller", "secret"])
def test_rendered_manifests_can_be_applied_by_kubectl_repeatedly_without_a_diff(
    cluster: Cluster, helm: Helm, mode: str
) -> None:
    values = FAST_SHUTDOWN if mode == "controller" else {**cluster.own_certificate()[1], **FAST_SHUTDOWN}
    text = cluster.helm(helm, "template", RELEASE, "--skip-tests", chart=CHART, values=values)
    cluster.plane.kubectl("apply", "-f", "-", input=text).ok()
    cluster.wait_ready()
    assert cluster.plane.kubectl("diff", "-f", "-", input=text).stdout == ""
    cluster.plane.kubectl("apply", "-f", "-", input=text).ok()
    assert injected(cluster.create_pod())
    cluster.plane.kubectl("delete", "-f", "-", "--wait=false", input=text).ok()
    assert cluster.create_pod().status == 201


def chart_of_previous_version(folder: Path) -> Path:
    """A copy of the chart with a lower version."""
    copy = folder / "previous"
    shutil.copytree(CHART, copy)
    chart = copy / "Chart.yaml"
    chart.write_text(chart.read_text().replace("0.1.0", "0.0.9"))
    return copy


def create_crds(cluster: Cluster) -> None:
    """Creates the CRDs of the Prometheus operator and of cert-manager; see crds/README.md."""
    collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for file in sorted((Path(__file__).parent / "crds").glob("*.yaml")):
        definition = yaml.safe_load(file.read_text("utf-8"))
        assert cluster.api.send("POST", collection, definition).status == 201
    wait_for(
        "all CRDs are established", lambda: cluster.api.list(collection), lambda found: all(map(established, found))
    )


def established(definition: JsonObject) -> bool:
    conditions = definition["status"]["conditions"] or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def find_collection(cluster: Cluster, manifest: JsonObject) -> str:
    """The path of the collection, by discovery for kinds that the test bed does not know."""
    try:
        return collection_of(manifest)
    except KeyError:
        version = manifest["apiVersion"]
        prefix = f"/api/{version}" if "/" not in version else f"/apis/{version}"
        resources = cluster.api.get(prefix)["resources"]
        plural = next(r["name"] for r in resources if r["kind"] == manifest["kind"] and "/" not in r["name"])
        return f"{prefix}/namespaces/{manifest['metadata']['namespace']}/{plural}"


def leases(cluster: Cluster) -> list[str]:
    return [each["metadata"]["name"] for each in cluster.api.list(path("Lease", NAMESPACE))]


def check_nothing_is_forbidden(cluster: Cluster) -> None:
    for pod in cluster.kubelet.pods.values():
        assert "forbidden" not in pod.output().lower(), pod.output()
