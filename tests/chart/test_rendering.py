"""Renderings over the matrix of values are valid, deterministic and complete."""

import functools
import json

import kubernetes_validate
import pytest

from tests.chart import rendering
from tests.chart.helm import Helm, find_all
from tests.chart.matrix import MATRIX, MAX_NAMESPACE, MAX_RELEASE
from tests.chart.rendering import JsonObject, Values, render, with_image
from tests.conftest import Golden
from tools.generate.chart_values import CHART

pytestmark = pytest.mark.chart

KUBERNETES = ("1.32", "1.34", "1.36", "1.37")
THIRD_PARTY = {"cert-manager.io/v1", "monitoring.coreos.com/v1"}
"""API versions that the schemas of Kubernetes do not have."""
CLUSTER_SCOPED = {
    "ClusterRole",
    "ClusterRoleBinding",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
}

each_values = pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())


@each_values
def test_strict_lint_reports_nothing(every_helm: Helm, values: Values) -> None:
    output = every_helm.run("lint", "--strict", str(CHART), "--values", "-", input=json.dumps(with_image(values)))
    assert "0 chart(s) failed" in output
    assert "[WARNING]" not in output


@each_values
@pytest.mark.parametrize("version", KUBERNETES)
def test_every_object_is_valid_by_the_schema_of_kubernetes(helm: Helm, values: Values, version: str) -> None:
    for each in render(helm, values).objects:
        if each["apiVersion"] not in THIRD_PARTY:
            _validate(json.dumps(each), version)


@each_values
def test_two_renderings_are_byte_identical(every_helm: Helm, values: Values) -> None:
    first = render(every_helm, values).text
    rendering.clear_cache()
    assert render(every_helm, values).text == first


def test_every_helm_renders_the_same_objects(helm: Helm) -> None:
    for other in find_all():
        for values in MATRIX.values():
            assert _by_name(render(helm, values).objects) == _by_name(render(other, values).objects)


@each_values
def test_every_object_has_its_namespace_for_kubectl_apply(helm: Helm, values: Values) -> None:
    for each in render(helm, values, namespace="team-ml").objects:
        expected = None if each["kind"] in CLUSTER_SCOPED else "team-ml"
        if "test" in each["metadata"]["labels"]["app.kubernetes.io/component"] and each["kind"].startswith("Role"):
            expected = "default"
        assert each["metadata"].get("namespace") == expected, f"{each['kind']} {each['metadata']['name']}"


@each_values
def test_no_two_objects_have_the_same_name(helm: Helm, values: Values) -> None:
    objects = render(helm, values).objects
    assert len(_by_name(objects)) == len(objects)


def test_common_labels_are_on_every_object_and_pod_and_do_not_replace_others(helm: Helm) -> None:
    values: Values = {"commonLabels": {"cost-centre": "7", "app.kubernetes.io/component": "mine"}}
    rendered = render(helm, values)
    labels = [each["metadata"]["labels"] for each in rendered.objects]
    labels += [pod["metadata"]["labels"] for _, pod in rendered.pods]
    assert all(each["cost-centre"] == "7" for each in labels)
    assert all(each["app.kubernetes.io/component"] != "mine" for each in labels)


def test_values_of_a_parent_chart_are_accepted(helm: Helm) -> None:
    assert render(helm, {"global": {"imageRegistry": "x"}, "enabled": True}).objects == render(helm).objects


def test_a_new_chart_version_alone_does_not_restart_pods(helm: Helm) -> None:
    for name, pod in render(helm).pods:
        if name != "modelfit-helm-test":
            assert "helm.sh/chart" not in pod["metadata"]["labels"]


@pytest.mark.parametrize("mode", [{}, {"certificates": {"mode": "cert-manager"}}], ids=["controller", "cert-manager"])
def test_the_chart_renders_no_secret_data_and_no_ca_bundle_that_others_write(helm: Helm, mode: Values) -> None:
    rendered = render(helm, mode)
    assert all(not secret.get("data") and not secret.get("stringData") for secret in rendered.of("Secret"))
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        assert all("caBundle" not in hook["clientConfig"] for hook in rendered.one(kind)["webhooks"])


def test_changed_settings_restart_the_pods(helm: Helm) -> None:
    def templates(values: Values) -> list[JsonObject]:
        return [each["spec"]["template"] for each in render(helm, values).of("Deployment")]

    assert templates({}) == templates({"webhook": {"replicas": 5}})
    for one, other in zip(templates({}), templates({"config": {"profile": "amd"}}), strict=True):
        assert one != other


def test_pod_annotations_do_not_replace_the_settings(helm: Helm) -> None:
    values: Values = {"podAnnotations": {"modelfit.llmfit.ai/config": "mine", "example.com/note": "x"}}
    rendered = render(helm, {"webhook": values, "controller": values})
    assert "profile" not in rendered.settings
    assert rendered.settings != "mine"
    assert rendered.text.count("example.com/note: x") == 2


def test_default_rendering(every_helm: Helm, golden: Golden) -> None:
    golden("chart/defaults.yaml", "\n".join(line for line in render(every_helm).text.splitlines() if line) + "\n")


def test_long_names_render_in_every_mode(helm: Helm) -> None:
    for values in MATRIX.values():
        for each in render(helm, values, release=MAX_RELEASE, namespace=MAX_NAMESPACE).objects:
            assert len(each["metadata"]["name"]) <= 63


def _by_name(objects: tuple[JsonObject, ...]) -> dict[tuple[str, str, str], JsonObject]:
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in objects}


@functools.cache
def _validate(each: str, version: str) -> None:
    """Cached, because most objects are the same under most values and validation is slow."""
    kubernetes_validate.validate(json.loads(each), version, strict=True)
