"""What is rendered, over the matrix of values: valid, strict, the same each time, and readable by any tool."""

import functools
import json

import kubernetes_validate
import pytest

from tests.chart import rendering
from tests.chart.helm import Helm, found
from tests.chart.matrix import LONGEST_NAMESPACE, LONGEST_RELEASE, MATRIX
from tests.chart.rendering import JsonObject, Values, render
from tests.conftest import Golden
from tools.generate.chart_values import CHART

pytestmark = pytest.mark.chart

KUBERNETES = ("1.32", "1.34", "1.36", "1.37")
FOREIGN = {"cert-manager.io/v1", "monitoring.coreos.com/v1"}
"""Kinds of operators, which Kubernetes' own schemas do not have."""
CLUSTER_SCOPED = {
    "ClusterRole",
    "ClusterRoleBinding",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
}

each_values = pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())


@each_values
def test_lint_finds_nothing_even_when_strict(every_helm: Helm, values: Values) -> None:
    said = every_helm.run("lint", "--strict", str(CHART), "--values", "-", input=json.dumps(values))
    assert "0 chart(s) failed" in said
    assert "[WARNING]" not in said


@each_values
@pytest.mark.parametrize("version", KUBERNETES)
def test_every_object_passes_kubernetes_own_schema_strictly(helm: Helm, values: Values, version: str) -> None:
    for each in render(helm, values).objects:
        if each["apiVersion"] not in FOREIGN:
            _validate(json.dumps(each), version)


@each_values
def test_two_renderings_are_byte_identical(every_helm: Helm, values: Values) -> None:
    first = render(every_helm, values).text
    rendering.forget()
    assert render(every_helm, values).text == first


def test_every_helm_renders_the_same_objects(helm: Helm) -> None:
    for other in found():
        for values in MATRIX.values():
            assert _by_name(render(helm, values).objects) == _by_name(render(other, values).objects)


@each_values
def test_every_object_says_its_namespace_so_that_kubectl_apply_puts_it_there(helm: Helm, values: Values) -> None:
    for each in render(helm, values, namespace="team-ml").objects:
        expected = None if each["kind"] in CLUSTER_SCOPED else "team-ml"
        if "test" in each["metadata"]["labels"]["app.kubernetes.io/component"] and each["kind"].startswith("Role"):
            expected = "default"
        assert each["metadata"].get("namespace") == expected, f"{each['kind']} {each['metadata']['name']}"


@each_values
def test_no_two_objects_have_the_same_name(helm: Helm, values: Values) -> None:
    objects = render(helm, values).objects
    assert len(_by_name(objects)) == len(objects)


def test_every_object_and_pod_carries_the_common_labels_but_keeps_its_own(helm: Helm) -> None:
    values: Values = {"commonLabels": {"cost-centre": "7", "app.kubernetes.io/component": "mine"}}
    rendered = render(helm, values)
    labels = [each["metadata"]["labels"] for each in rendered.objects]
    labels += [pod["metadata"]["labels"] for _, pod in rendered.pods]
    assert all(each["cost-centre"] == "7" for each in labels)
    assert all(each["app.kubernetes.io/component"] != "mine" for each in labels)


def test_values_of_a_parent_chart_are_accepted(helm: Helm) -> None:
    assert render(helm, {"global": {"imageRegistry": "x"}, "enabled": True}).objects == render(helm).objects


def test_a_new_chart_version_alone_restarts_nothing(helm: Helm) -> None:
    # The chart's version is in no pod template.
    for name, pod in render(helm).pods:
        if name != "modelfit-helm-test":
            assert "helm.sh/chart" not in pod["metadata"]["labels"]


@pytest.mark.parametrize("mode", [{}, {"certificates": {"mode": "cert-manager"}}], ids=["controller", "cert-manager"])
def test_the_chart_renders_neither_keys_nor_authorities_that_others_own(helm: Helm, mode: Values) -> None:
    rendered = render(helm, mode)
    assert all(not secret.get("data") and not secret.get("stringData") for secret in rendered.of("Secret"))
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        assert all("caBundle" not in hook["clientConfig"] for hook in rendered.one(kind)["webhooks"])


def test_the_settings_restart_the_pods_when_they_change(helm: Helm) -> None:
    def templates(values: Values) -> list[JsonObject]:
        return [each["spec"]["template"] for each in render(helm, values).of("Deployment")]

    assert templates({}) == templates({"webhook": {"replicas": 5}})
    for one, other in zip(templates({}), templates({"config": {"profile": "amd"}}), strict=True):
        assert one != other


def test_annotations_of_a_pod_do_not_replace_its_settings(helm: Helm) -> None:
    values: Values = {"podAnnotations": {"modelfit.llmfit.ai/config": "mine", "example.com/note": "x"}}
    rendered = render(helm, {"webhook": values, "controller": values})
    assert "profile" not in rendered.settings
    assert rendered.settings != "mine"
    assert rendered.text.count("example.com/note: x") == 2


def test_the_default_rendering_is_the_golden_one(every_helm: Helm, golden: Golden) -> None:
    golden("chart/defaults.yaml", "\n".join(line for line in render(every_helm).text.splitlines() if line) + "\n")


def test_long_names_render_in_every_mode(helm: Helm) -> None:
    for values in MATRIX.values():
        for each in render(helm, values, release=LONGEST_RELEASE, namespace=LONGEST_NAMESPACE).objects:
            assert len(each["metadata"]["name"]) <= 63


def _by_name(objects: tuple[JsonObject, ...]) -> dict[tuple[str, str, str], JsonObject]:
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in objects}


@functools.cache
def _validate(each: str, version: str) -> None:
    """Most objects are the same under most values, and a schema takes a while."""
    kubernetes_validate.validate(json.loads(each), version, strict=True)
