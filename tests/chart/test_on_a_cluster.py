"""The chart installed by helm onto a real control plane, its pods run as local processes: see `tests.chart.node`."""

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
from tests.chart.installing import ANNOTATION, NAMESPACE, RELEASE, Cluster, Customers, injected, labelled
from tests.chart.matrix import LONGEST_NAMESPACE, LONGEST_RELEASE, MATRIX
from tests.chart.rendering import JsonObject, Values, render
from tools.generate.chart_values import CHART

pytestmark = [pytest.mark.chart, pytest.mark.cluster, pytest.mark.timeout(600)]

OURS = f"app.kubernetes.io/instance={RELEASE}"
PARTS = ("webhook", "controller")
QUICK: Values = {"webhook": {"preStopSeconds": 2}, "config": {"drainSeconds": 1}}
"""Pods end sooner. Endpoints are stale for a second here, which the first two seconds cover."""


def test_every_rendered_object_is_accepted_by_the_api_server(cluster: Cluster, helm: Helm) -> None:
    define_operators_kinds(cluster)
    # A dry run makes nothing, so what the test's pod needs is made for real.
    account = {"name": f"{RELEASE}-helm-test", "namespace": NAMESPACE}
    cluster.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    tried: set[str] = set()
    for name, values in MATRIX.items():
        for each in render(helm, values, release=RELEASE, namespace=NAMESPACE).objects:
            if each["kind"] == "ServiceAccount" and each["metadata"]["name"] == account["name"]:
                continue
            tried.add(each["kind"])
            where = collection_of_any(cluster, each)
            answer = cluster.api.send("POST", where, each, query={"dryRun": "All", "fieldValidation": "Strict"})
            said = f"{name}: {each['kind']} {each['metadata']['name']}: {answer.body.get('message')}"
            assert answer.status == 201, said
            assert not answer.warnings, f"{said} {answer.warnings}"
    assert tried >= {"ServiceMonitor", "PodMonitor", "PrometheusRule", "Certificate", "Issuer"}


def test_a_release_from_its_installation_to_its_removal(cluster: Cluster, every_helm: Helm, tmp_path: Path) -> None:
    helm = every_helm
    values = QUICK
    previous = earlier_chart(tmp_path)

    def admitted(step: str) -> None:
        answer = cluster.create_pod()
        assert injected(answer), f"after {step}: {answer.body.get('message')}"

    cluster.install(helm, values, previous)
    cluster.wait_ready()
    cluster.helm(helm, "test", RELEASE)
    with Customers(cluster) as customers:
        steps: list[tuple[str, Callable[[], object]]] = [
            ("an upgrade from the previous chart", lambda: cluster.upgrade(helm, values)),
            ("an upgrade without a change", lambda: cluster.upgrade(helm, values)),
            ("an upgrade with other values", lambda: cluster.upgrade(helm, {**values, "commonLabels": {"a": "b"}})),
            ("a rollback", lambda: cluster.helm(helm, "rollback", RELEASE, "--wait", "--timeout", "200s")),
        ]
        for step, action in steps:
            action()
            admitted(step)
    assert customers.pods > 20
    assert customers.refused == []
    # The controller is the one of the release, under the release's permissions.
    for each in cluster.team.pods():
        cluster.team.wait_bound(each["metadata"]["name"])
    assert len(cluster.team.claims()) == len(steps)
    _nothing_is_forbidden(cluster)

    with Customers(cluster) as customers:
        cluster.helm(helm, "uninstall", RELEASE, "--wait", "--timeout", "200s")
        assert cluster.create_pod().status == 201
        assert cluster.create_pod(annotated=False).status == 201
    # Helm 3 removes the Service a moment before the webhook configurations; without them pods are simply not injected.
    known = ('service "modelfit" not found', "admitted, but not injected")
    assert [each for each in customers.refused if not each.endswith(known)] == []
    wait_for("the pods have ended", lambda: cluster.kubelet.running(), lambda pods: not pods)
    left = wait_for("nothing of the release is left", lambda: labelled(cluster.api, OURS), lambda found: not found)
    assert left == []
    assert leases(cluster) == [f"{RELEASE}-controller"]


def test_helm_test_fails_where_pods_are_not_injected(cluster: Cluster, every_helm: Helm) -> None:
    cluster.install(every_helm, QUICK)
    cluster.api.delete(path("MutatingWebhookConfiguration", None, RELEASE))
    cluster.api.delete(path("ValidatingWebhookConfiguration", None, RELEASE))
    with pytest.raises(HelmFailed, match="modelfit-helm-test"):
        cluster.helm(every_helm, "test", RELEASE, "--timeout", "120s")
    (pod,) = cluster.kubelet.running("test")
    assert "the webhook was not called" in pod.output()
    # Its log stays readable, its permission goes; the pod holds up no removal.
    assert [each for each in labelled(cluster.api, OURS) if "helm-test" in each] == [f"Pod {NAMESPACE}/{pod.name}"]
    cluster.helm(every_helm, "uninstall", RELEASE, "--wait", "--timeout", "200s")
    cluster.api.delete(path("Pod", NAMESPACE, pod.name))
    wait_for("nothing of the release is left", lambda: labelled(cluster.api, OURS), lambda found: not found)


def test_pods_that_start_anew_after_a_failed_upgrade_have_the_settings_that_they_had(
    cluster: Cluster, helm: Helm
) -> None:
    cluster.install(helm, QUICK)
    cluster.wait_ready()
    before = cluster.kubelet.running()
    # What only the program counts.
    selectors = ["true || " * 1100 + "true"] * 4
    profile = {"driver": "gpu.example", "deviceClasses": ["a"], "selectors": selectors}
    wrong: Values = {**QUICK, "config": {"drainSeconds": 1, "profiles": {"own": profile}}}
    with pytest.raises(HelmFailed):
        cluster.helm(helm, "upgrade", RELEASE, "--wait", "--timeout", "10s", chart=CHART, values=wrong)
    wait_for("the new pods fail", lambda: [pod for pod in cluster.kubelet.running() if pod.restarts > 1])
    for pod in before:
        cluster.api.delete_if_exists(path("Pod", NAMESPACE, pod.name), force=True)
        assert pod.terminated.wait(60)
    cluster.wait_ready()
    cluster.team.wait_bound(cluster.create_pod().body["metadata"]["name"])


def test_pods_that_are_left_alone_need_no_webhook(cluster: Cluster, helm: Helm) -> None:
    cluster.install(helm, QUICK)
    cluster.wait_ready()
    cluster.make_namespace("disabled", **{"llmfit.ai/inject": "disabled"})
    cluster.wait_account("kube-system")
    asked = cluster.plane.metric("apiserver_admission_webhook_request_total")
    spared = [("kube-system", True), (NAMESPACE, True), ("disabled", True), (cluster.team.name, False)]
    for namespace, annotated in spared:
        assert cluster.create_pod(namespace, annotated=annotated).status == 201
    assert cluster.plane.metric("apiserver_admission_webhook_request_total") == asked

    for pod in cluster.kubelet.running():
        cluster.api.delete_if_exists(path("Pod", NAMESPACE, pod.name), force=True)
    # All of ours at once: the rest of the cluster goes on, and ours come back by themselves.
    for namespace, annotated in spared:
        assert cluster.create_pod(namespace, annotated=annotated).status == 201
    cluster.wait_ready()


def test_annotated_pods_are_refused_while_no_webhook_answers_and_admitted_without_a_claim_under_ignore(
    cluster: Cluster, helm: Helm
) -> None:
    cluster.install(helm, QUICK)
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
    answer = wait_for("the pod is admitted", lambda: cluster.create_pod(), lambda seen: seen.status == 201)
    assert not injected(answer)


def test_pods_that_exist_can_be_updated_and_removed_while_no_webhook_answers(cluster: Cluster, helm: Helm) -> None:
    cluster.install(helm, QUICK)
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
    # A finalizer is removed by an update; what is wrong with the annotation by now is nobody's business.
    cluster.api.patch(where, {"metadata": {"finalizers": None, "annotations": {ANNOTATION: "{}"}}})
    wait_for("the pod is gone", lambda: cluster.api.find(where), lambda found: found is None)


def test_the_longest_names_serve(cluster: Cluster, helm: Helm) -> None:
    cluster.release, cluster.namespace = LONGEST_RELEASE, LONGEST_NAMESPACE
    cluster.make_namespace(LONGEST_NAMESPACE)
    cluster.install(helm, QUICK)
    cluster.wait_ready()
    name = cluster.create_pod().body["metadata"]["name"]
    cluster.team.wait_bound(name)
    cluster.helm(helm, "test", LONGEST_RELEASE)


def test_what_the_pods_of_a_release_show_is_what_the_dashboard_asks_for(cluster: Cluster, helm: Helm) -> None:
    cluster.install(helm, QUICK)
    cluster.wait_ready()
    cluster.team.wait_bound(cluster.create_pod().body["metadata"]["name"])
    shown = {component: " ".join(map(LocalPod.metrics, cluster.kubelet.running(component))) for component in PARTS}
    assert 'modelfit_admission_reviews_total{operation="CREATE",outcome="allowed"' in shown["webhook"]
    assert "modelfit_serving_certificate_expiry_timestamp_seconds" in shown["webhook"]
    assert 'modelfit_reconcile_total{result="ClaimCreated"} 1.0' in shown["controller"]
    assert sorted(re.findall(r"^modelfit_leader (\S+)", shown["controller"], re.MULTILINE)) == ["0.0", "1.0"]


@pytest.mark.parametrize("mode", ["controller", "secret"])
def test_what_helm_renders_can_be_applied_by_kubectl_and_applied_again_without_a_change(
    cluster: Cluster, helm: Helm, mode: str
) -> None:
    values = QUICK if mode == "controller" else {**cluster.own_certificate()[1], **QUICK}
    text = cluster.helm(helm, "template", RELEASE, "--skip-tests", chart=CHART, values=values)
    cluster.plane.kubectl("apply", "-f", "-", input=text).ok()
    cluster.wait_ready()
    assert cluster.plane.kubectl("diff", "-f", "-", input=text).stdout == ""
    cluster.plane.kubectl("apply", "-f", "-", input=text).ok()
    assert injected(cluster.create_pod())
    cluster.plane.kubectl("delete", "-f", "-", "--wait=false", input=text).ok()
    assert cluster.create_pod().status == 201


def earlier_chart(folder: Path) -> Path:
    """The chart as if it were the version before this one."""
    copy = folder / "earlier"
    shutil.copytree(CHART, copy)
    chart = copy / "Chart.yaml"
    chart.write_text(chart.read_text().replace("0.1.0", "0.0.9"))
    return copy


def define_operators_kinds(cluster: Cluster) -> None:
    """The kinds of the Prometheus operator and of cert-manager, as they define them themselves; see crds/README.md."""
    collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for file in sorted((Path(__file__).parent / "crds").glob("*.yaml")):
        definition = yaml.safe_load(file.read_text("utf-8"))
        assert cluster.api.send("POST", collection, definition).status == 201
    # In use a moment after it is made.
    wait_for("all are in use", lambda: cluster.api.list(collection), lambda found: all(map(established, found)))


def established(definition: JsonObject) -> bool:
    conditions = definition["status"]["conditions"] or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def collection_of_any(cluster: Cluster, manifest: JsonObject) -> str:
    """The collection, by discovery where the test bed does not know the kind."""
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


def _nothing_is_forbidden(cluster: Cluster) -> None:
    for pod in cluster.kubelet.pods.values():
        assert "forbidden" not in pod.output().lower(), pod.output()
