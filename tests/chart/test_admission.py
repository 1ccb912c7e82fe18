"""Which objects the API server would ask us about: the rules, selectors and conditions of both configurations."""

from typing import Any

import cel
import pytest

from tests.chart.helm import Helm
from tests.chart.rendering import JsonObject, render
from webhook import vocabulary

pytestmark = pytest.mark.chart

BOTH = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
ANNOTATED: JsonObject = {"metadata": {"annotations": {vocabulary.MODEL_FIT: "{}"}}}
OTHERWISE: JsonObject = {"metadata": {"annotations": {vocabulary.MODEL_FIT: '{"model": "other"}'}}}
PLAIN: JsonObject = {"metadata": {"annotations": {"a": "b"}}}
BARE: JsonObject = {"metadata": {}}
ENDING: JsonObject = {"metadata": {**OTHERWISE["metadata"], "deletionTimestamp": "2030-01-01T00:00:00Z"}}


@pytest.mark.parametrize("kind", BOTH)
def test_each_webhook_is_declared_as_it_is(helm: Helm, kind: str) -> None:
    for hook in render(helm).one(kind)["webhooks"]:
        assert hook["sideEffects"] == "None"
        assert hook["admissionReviewVersions"] == ["v1"]
        assert hook["timeoutSeconds"] == 5
        assert hook["failurePolicy"] == "Fail"
        assert hook["matchPolicy"] == "Equivalent"
        assert len({hook["name"]}) == 1


def test_the_mutating_webhook_is_asked_about_the_creation_of_pods_and_nothing_else(helm: Helm) -> None:
    (hook,) = render(helm).one(BOTH[0])["webhooks"]
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": "Namespaced"}
    assert hook["rules"] == [{**pods, "operations": ["CREATE"]}]
    assert hook["reinvocationPolicy"] == "IfNeeded"
    assert hook["clientConfig"]["service"]["path"] == "/mutate"


def test_no_webhook_is_asked_about_deletions_or_subresources(helm: Helm) -> None:
    for kind in BOTH:
        for hook in render(helm).one(kind)["webhooks"]:
            for rule in hook["rules"]:
                assert not {"DELETE", "CONNECT", "*"} & set(rule["operations"])
                assert not any("/" in each or "*" in each for each in rule["resources"])


@pytest.mark.parametrize("kind", BOTH)
def test_namespaces_that_are_left_alone(helm: Helm, kind: str) -> None:
    rendered = render(
        helm, {"admission": {"excludedNamespaces": ["monitoring", "kube-system"]}}, namespace="gpu-system"
    )
    for hook in rendered.one(kind)["webhooks"]:
        for name in ("kube-system", "gpu-system", "monitoring"):
            assert not selected(hook["namespaceSelector"], {"kubernetes.io/metadata.name": name})
        assert selected(hook["namespaceSelector"], {"kubernetes.io/metadata.name": "team"})
        labels = {"kubernetes.io/metadata.name": "team", vocabulary.INJECT: vocabulary.INJECT_DISABLED}
        assert not selected(hook["namespaceSelector"], labels)


@pytest.mark.parametrize("kind", BOTH)
def test_pods_labelled_to_be_left_alone_are(helm: Helm, kind: str) -> None:
    for hook in render(helm).one(kind)["webhooks"]:
        assert not selected(hook["objectSelector"], {vocabulary.INJECT: vocabulary.INJECT_DISABLED})
        assert selected(hook["objectSelector"], {})


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(("pod", "asked"), [(ANNOTATED, True), (PLAIN, False), (BARE, False)])
def test_only_annotated_pods_are_asked_about(helm: Helm, kind: str, pod: JsonObject, asked: bool) -> None:
    for hook in render(helm).one(kind)["webhooks"]:
        assert matches(hook, "CREATE", pod, None) is asked


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        pytest.param(ANNOTATED, ANNOTATED, False, id="unchanged"),
        pytest.param(ANNOTATED, OTHERWISE, True, id="changed"),
        pytest.param(PLAIN, ANNOTATED, True, id="added"),
        pytest.param(BARE, ANNOTATED, True, id="added to none"),
        pytest.param(ANNOTATED, PLAIN, False, id="removed"),
        pytest.param(ANNOTATED, ENDING, False, id="being deleted"),
    ],
)
def test_an_update_is_asked_about_only_if_it_changes_the_annotation(
    helm: Helm, old: JsonObject, new: JsonObject, asked: bool
) -> None:
    (hook,) = render(helm).one(BOTH[1])["webhooks"]
    assert matches(hook, "UPDATE", new, old) is asked


def selected(selector: JsonObject, labels: dict[str, str]) -> bool:
    """A label selector, as apimachinery reads it; only what the chart uses."""
    for requirement in selector["matchExpressions"]:
        assert requirement["operator"] == "NotIn"
        if labels.get(requirement["key"]) in requirement["values"]:
            return False
    return True


def matches(hook: JsonObject, operation: str, new: JsonObject, old: JsonObject | None) -> bool:
    """Whether all match conditions hold. An error is an error here: under Fail it would refuse the request."""
    context: dict[str, Any] = {"object": new, "oldObject": old, "request": {"operation": operation}}
    return all(cel.evaluate(each["expression"], context) is True for each in hook["matchConditions"])
