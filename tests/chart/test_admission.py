"""For which objects the API server calls the webhook: rules, selectors and conditions of both configurations."""

from typing import Any

import cel
import pytest

from tests.chart.helm import Helm
from tests.chart.rendering import JsonObject, render
from tests.core import builders
from tests.core.builders import CLAIM, kind_of, pod, workload
from webhook import constants
from webhook.core.admission import exemptions
from webhook.reasons import Reason

pytestmark = pytest.mark.chart

CONFIGURATION_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
ANNOTATED: JsonObject = {"metadata": {"annotations": {constants.MODEL_FIT: "{}"}}}
CHANGED: JsonObject = {"metadata": {"annotations": {constants.MODEL_FIT: '{"model": "other"}'}}}
PLAIN: JsonObject = {"metadata": {"annotations": {"a": "b"}}}
EMPTY_METADATA: JsonObject = {"metadata": {}}
DELETED: JsonObject = {"metadata": {**CHANGED["metadata"], "deletionTimestamp": "2030-01-01T00:00:00Z"}}


PODS, WORKLOADS = "validate.modelfit.llmfit.ai", "workloads.modelfit.llmfit.ai"


@pytest.mark.parametrize("kind", CONFIGURATION_KINDS)
def test_fields_of_every_webhook(helm: Helm, kind: str) -> None:
    for hook in render(helm).one(kind)["webhooks"]:
        assert hook["sideEffects"] == "None"
        assert hook["admissionReviewVersions"] == ["v1"]
        assert hook["timeoutSeconds"] == 5
        assert hook["failurePolicy"] == ("Ignore" if hook["name"] == WORKLOADS else "Fail")
        assert hook["matchPolicy"] == "Equivalent"
        assert hook["name"].endswith(constants.WEBHOOK_NAME_SUFFIX)


def test_the_mutating_webhook_is_called_only_for_the_creation_of_pods(helm: Helm) -> None:
    (hook,) = render(helm).one(CONFIGURATION_KINDS[0])["webhooks"]
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": "Namespaced"}
    assert hook["rules"] == [{**pods, "operations": ["CREATE"]}]
    assert hook["reinvocationPolicy"] == "IfNeeded"
    assert hook["clientConfig"]["service"]["path"] == "/mutate"


def test_no_webhook_is_called_for_deletions_or_subresources(helm: Helm) -> None:
    for kind in CONFIGURATION_KINDS:
        for hook in render(helm).one(kind)["webhooks"]:
            for rule in hook["rules"]:
                assert not {"DELETE", "CONNECT", "*"} & set(rule["operations"])
                assert not any("/" in each or "*" in each for each in rule["resources"])


@pytest.mark.parametrize("kind", CONFIGURATION_KINDS)
def test_no_webhook_is_called_in_excluded_namespaces(helm: Helm, kind: str) -> None:
    rendered = render(
        helm, {"admission": {"excludedNamespaces": ["monitoring", "kube-system"]}}, namespace="gpu-system"
    )
    for hook in rendered.one(kind)["webhooks"]:
        for name in ("kube-system", "gpu-system", "monitoring"):
            assert not selected(hook["namespaceSelector"], {"kubernetes.io/metadata.name": name})
        assert selected(hook["namespaceSelector"], {"kubernetes.io/metadata.name": "team"})
        labels = {"kubernetes.io/metadata.name": "team", constants.INJECT: constants.INJECT_DISABLED}
        assert not selected(hook["namespaceSelector"], labels)


METADATA: list[JsonObject] = [
    {"annotations": annotations, "labels": labels} | deleted
    for annotations in (
        {},
        {"a": "b"},
        {constants.MODEL_FIT: "{}"},
        {constants.MIRROR_POD: "hash"},
        {constants.MODEL_FIT: "{}", constants.MIRROR_POD: "hash"},
    )
    for labels in ({}, {constants.INJECT: constants.INJECT_DISABLED}, {constants.INJECT: "enabled"})
    for deleted in ({}, {"deletionTimestamp": "2030-01-01T00:00:00Z"})
]


@pytest.mark.parametrize("kind", CONFIGURATION_KINDS)
def test_the_chart_and_the_core_agree_on_exempt_pods(helm: Helm, kind: str) -> None:
    """The API server calls the webhook for every pod that is not exempt. Of the exempt ones it calls it for mirror pods
    and deletions only, which are rare."""
    for hook in pod_hooks(helm, kind):
        assert not matches(hook, "CREATE", EMPTY_METADATA, None)
        for metadata in METADATA:
            exemption = exemptions.find_exemption(metadata)
            operations = {
                operation
                for operation in hook["rules"][0]["operations"]
                if selected(hook["objectSelector"], metadata["labels"])
                and matches(hook, operation, {"metadata": metadata}, PLAIN)
            }
            assert ("CREATE" in operations) is (exemption not in (Reason.NOT_ANNOTATED, Reason.DISABLED)), metadata
            assert exemption or operations == set(hook["rules"][0]["operations"]), metadata
            assert "UPDATE" not in operations or not metadata.get("deletionTimestamp")


INJECTED_ENTRY = {"name": constants.ALIAS, "resourceClaimName": CLAIM}


@pytest.mark.parametrize("metadata", [{}, {"annotations": {"a": "b"}}])
@pytest.mark.parametrize(
    ("spec", "called"),
    [
        ({"resourceClaims": [{"name": "nic", "resourceClaimName": CLAIM}, INJECTED_ENTRY]}, True),
        ({"resourceClaims": [{"name": "nic", "resourceClaimName": CLAIM}]}, False),
        ({"resourceClaims": []}, False),
        ({}, False),
    ],
)
def test_a_copy_without_annotations_calls_the_mutating_webhook_only(
    helm: Helm, metadata: JsonObject, spec: JsonObject, called: bool
) -> None:
    copy = {"metadata": metadata, "spec": spec}
    for kind in CONFIGURATION_KINDS:
        for hook in pod_hooks(helm, kind):
            mutating = hook["clientConfig"]["service"]["path"] == "/mutate"
            for operation in hook["rules"][0]["operations"]:
                assert matches(hook, operation, copy, copy) is (called and mutating)
    # The core warns about the same pods.
    assert (builders.mutate(copy).warnings != ()) is called


@pytest.mark.parametrize(
    ("old", "new", "called"),
    [
        pytest.param(ANNOTATED, ANNOTATED, False, id="unchanged"),
        pytest.param(ANNOTATED, CHANGED, True, id="changed"),
        pytest.param(PLAIN, ANNOTATED, True, id="added"),
        pytest.param(EMPTY_METADATA, ANNOTATED, True, id="added to none"),
        pytest.param(ANNOTATED, PLAIN, True, id="removed"),
        pytest.param(ANNOTATED, DELETED, False, id="deleted"),
        pytest.param(PLAIN, EMPTY_METADATA, False, id="not annotated"),
        pytest.param(PLAIN, {"metadata": {"labels": {constants.INJECT: "disabled"}}}, False, id="not injected"),
    ],
)
def test_an_update_calls_the_webhook_only_if_it_changes_the_annotation(
    helm: Helm, old: JsonObject, new: JsonObject, called: bool
) -> None:
    (hook,) = pod_hooks(helm, CONFIGURATION_KINDS[1])
    assert matches(hook, "UPDATE", new, old) is called


SET_BY_US: JsonObject = {
    "annotations": {constants.CLAIM: CLAIM, constants.RESOURCES: "{}", constants.INJECTED_INTO: "a/b"},
    "labels": {constants.INJECTED: constants.INJECTED_TRUE},
}


@pytest.mark.parametrize("others", [{}, {"a": "b"}, {constants.MODEL_FIT: "{}"}], ids=str)
@pytest.mark.parametrize(
    ("field", "key"), [(field, key) for field, values in SET_BY_US.items() for key in values], ids=str
)
def test_an_update_of_what_the_webhook_sets_calls_it_and_is_denied(
    helm: Helm, field: str, key: str, others: dict[str, str]
) -> None:
    (hook,) = pod_hooks(helm, CONFIGURATION_KINDS[1])
    injected = {**SET_BY_US, "annotations": SET_BY_US["annotations"] | others}
    removed = {**injected, field: {name: value for name, value in injected[field].items() if name != key}}
    long = "x" * 200
    injected = {**injected, field: injected[field] | {key: f"{long}1"}}
    changed = {**injected, field: injected[field] | {key: f"{long}2"}}
    none: JsonObject = {"annotations": others} if others else {}
    for before, after in (
        (injected, removed),
        (injected, changed),
        (none, {**none, field: none.get(field, {}) | {key: "x"}}),
    ):
        old, new = ({"metadata": metadata, "spec": {}} for metadata in (before, after))
        assert matches(hook, "UPDATE", new, old)
        assert builders.validate(new, operation="UPDATE", old=old).reason == Reason.INJECTION_CHANGED
        deleted = {**new, "metadata": {**new["metadata"], "deletionTimestamp": "2030-01-01T00:00:00Z"}}
        assert not matches(hook, "UPDATE", deleted, old)
        assert builders.validate(deleted, operation="UPDATE", old=old).allowed
        assert not matches(hook, "UPDATE", new, new)
        assert builders.validate(new, operation="UPDATE", old=new).allowed


def test_an_exempt_pod_with_the_injected_label_cannot_become_one_that_is_not_exempt(helm: Helm) -> None:
    (hook,) = pod_hooks(helm, CONFIGURATION_KINDS[1])
    labels = {constants.INJECTED: constants.INJECTED_TRUE}
    old = {"metadata": {"labels": labels | {constants.INJECT: constants.INJECT_DISABLED}}, "spec": {}}
    for now in ({}, {constants.INJECT: "enabled"}):
        new = {"metadata": {"labels": labels | now}, "spec": {}}
        assert matches(hook, "UPDATE", new, old)
        assert builders.validate(new, operation="UPDATE", old=old).reason == Reason.INJECTION_CHANGED
        # The other direction takes a pod out of the controller's reach.
        assert builders.validate(old, operation="UPDATE", old=new).allowed


def test_only_included_namespaces_are_selected_if_there_are_any(helm: Helm) -> None:
    rendered = render(helm, {"admission": {"includedNamespaces": ["team", "kube-system"]}})
    for kind in CONFIGURATION_KINDS:
        for hook in rendered.one(kind)["webhooks"]:
            for name, expected in (("team", True), ("other", False), ("kube-system", False)):
                assert selected(hook["namespaceSelector"], {"kubernetes.io/metadata.name": name}) is expected


def test_the_workload_rules_match_the_kinds_that_the_core_supports(helm: Helm) -> None:
    hook = workloads_hook(helm)
    assert hook["clientConfig"]["service"]["path"] == "/validate"
    named = {
        (group, resource) for rule in hook["rules"] for group in rule["apiGroups"] for resource in rule["resources"]
    }
    assert named == {(group, f"{kind.lower()}s") for kind, group in builders.WORKLOADS.items()}
    for rule in hook["rules"]:
        assert (rule["apiVersions"], rule["operations"], rule["scope"]) == (["v1"], ["CREATE", "UPDATE"], "Namespaced")


def test_workload_validation_can_fail_closed_or_be_disabled(helm: Helm) -> None:
    strict = render(helm, {"admission": {"failurePolicy": "Ignore", "workloads": {"failurePolicy": "Fail"}}})
    pods, workloads = strict.one(CONFIGURATION_KINDS[1])["webhooks"]
    assert (pods["failurePolicy"], workloads["failurePolicy"]) == ("Ignore", "Fail")
    without = render(helm, {"admission": {"workloads": {"enabled": False}}})
    assert [hook["name"] for hook in without.one(CONFIGURATION_KINDS[1])["webhooks"]] == [PODS]


LABELS = {"labels": {constants.INJECT: constants.INJECT_DISABLED}}
FIT, OTHER_FIT = pod(), pod('{"min_vram_gb": 9}')
DISABLED_FIT = {**FIT, "metadata": FIT["metadata"] | LABELS}
NO_ANNOTATIONS: JsonObject = {**FIT, "metadata": {}}


OUTSIDE = {"annotations": {constants.MODEL_FIT: "{}"}}


def owned(version: str, kind: str, **members: object) -> JsonObject:
    return {"ownerReferences": [{"apiVersion": version, "kind": kind, "name": "x", **members}]}


@pytest.mark.parametrize("kind", builders.WORKLOADS)
@pytest.mark.parametrize(
    ("template", "metadata", "called"),
    [
        pytest.param(FIT, {}, True, id="annotated"),
        pytest.param(pod(None), {}, False, id="not annotated"),
        pytest.param(pod(None), OUTSIDE, True, id="annotated outside"),
        pytest.param(pod(None), OUTSIDE | LABELS, False, id="annotated outside and disabled"),
        pytest.param(NO_ANNOTATIONS, OUTSIDE, True, id="annotated outside only"),
        pytest.param(pod(None), {"annotations": {constants.PROFILE: "amd"}}, False, id="profile outside"),
        pytest.param(NO_ANNOTATIONS, {}, False, id="no annotations"),
        pytest.param(DISABLED_FIT, {}, False, id="disabled"),
        pytest.param(FIT, LABELS, True, id="labelled outside"),
        pytest.param(FIT, owned("apps/v1", "Deployment", controller=True), False, id="of a Deployment"),
        pytest.param(
            pod(None),
            OUTSIDE | owned("apps/v1", "Deployment", controller=True),
            False,
            id="of a Deployment annotated outside",
        ),
        pytest.param(FIT, owned("batch/v1", "CronJob", controller=True), False, id="of a CronJob"),
        pytest.param(FIT, owned("apps/v1", "Deployment"), True, id="owner without controller"),
        pytest.param(FIT, owned("apps/v1", "Deployment", controller=False), True, id="owner with controller false"),
        pytest.param(FIT, owned("argoproj.io/v1alpha1", "Rollout", controller=True), True, id="of a third-party kind"),
    ],
)
def test_only_workloads_with_an_annotation_call_the_webhook(
    helm: Helm, kind: str, template: JsonObject, metadata: JsonObject, called: bool
) -> None:
    target = workload(kind, template, **metadata)
    assert matches(workloads_hook(helm), "CREATE", target, None) is called
    # For the others, the core would neither validate nor warn.
    decision = builders.validate(target, kind=kind_of(target))
    assert (decision.reason == Reason.VALID or decision.warnings != ()) is called


@pytest.mark.parametrize("kind", builders.WORKLOADS)
@pytest.mark.parametrize(
    ("old", "new", "metadata", "called"),
    [
        pytest.param(FIT, FIT, {}, False, id="unchanged"),
        pytest.param(FIT, pod(nodeName="n"), {}, False, id="changed elsewhere"),
        pytest.param(FIT, pod(annotations={"a": "b"}), {}, False, id="another annotation"),
        pytest.param(FIT, OTHER_FIT, {}, True, id="changed"),
        pytest.param(pod(None), FIT, {}, True, id="added"),
        pytest.param(NO_ANNOTATIONS, FIT, {}, True, id="added to none"),
        pytest.param(FIT, pod(None), {}, False, id="removed"),
        pytest.param(FIT, DISABLED_FIT, {}, False, id="disabled"),
        pytest.param(DISABLED_FIT, FIT, {}, True, id="enabled"),
        pytest.param(FIT, OTHER_FIT, {"deletionTimestamp": "2030-01-01T00:00:00Z"}, False, id="deleted"),
        *(
            pytest.param(FIT, pod(annotations={key: value}), {}, True, id=f"{key} {value or 'empty'}")
            for key in (constants.CONTAINERS, constants.PROFILE, constants.DEVICE_COUNT)
            for value in ("", "server")
        ),
        pytest.param(
            pod(annotations={constants.PROFILE: "amd"}),
            pod(annotations={constants.CONTAINERS: "amd"}),
            {},
            True,
            id="value moved to another annotation",
        ),
    ],
)
def test_a_workload_update_calls_the_webhook_only_if_it_changes_an_annotation_of_the_template(
    helm: Helm, kind: str, old: JsonObject, new: JsonObject, metadata: JsonObject, called: bool
) -> None:
    target, before = workload(kind, new, **metadata), workload(kind, old, **metadata)
    assert matches(workloads_hook(helm), "UPDATE", target, before) is called
    reason = builders.validate(target, kind=kind_of(target), operation="UPDATE", old=before).reason
    skipped = {Reason.ANNOTATION_UNCHANGED, Reason.NOT_ANNOTATED, Reason.DISABLED, Reason.BEING_DELETED}
    assert (reason not in skipped) is called


@pytest.mark.parametrize("kind", builders.WORKLOADS)
@pytest.mark.parametrize(
    ("old", "new", "metadata", "called"),
    [
        pytest.param({}, OUTSIDE, {}, True, id="added"),
        pytest.param({"annotations": {"a": "b"}}, OUTSIDE, {}, True, id="added to other annotations"),
        pytest.param(OUTSIDE, {"annotations": {constants.MODEL_FIT: "[]"}}, {}, True, id="changed"),
        pytest.param(OUTSIDE, OUTSIDE, {}, False, id="unchanged"),
        pytest.param(
            OUTSIDE, {"annotations": {**OUTSIDE["annotations"], "a": "b"}}, {}, False, id="another annotation added"
        ),
        pytest.param(OUTSIDE, {}, {}, False, id="removed"),
        pytest.param(OUTSIDE, OUTSIDE | LABELS, {}, False, id="disabled"),
        pytest.param(OUTSIDE | LABELS, OUTSIDE, {}, True, id="enabled"),
        pytest.param({}, OUTSIDE, {"deletionTimestamp": "2030-01-01T00:00:00Z"}, False, id="deleted"),
    ],
)
def test_an_annotation_outside_the_template_calls_the_webhook_only_when_it_changes(
    helm: Helm, kind: str, old: JsonObject, new: JsonObject, metadata: JsonObject, called: bool
) -> None:
    target, before = workload(kind, pod(None), **new, **metadata), workload(kind, pod(None), **old, **metadata)
    assert matches(workloads_hook(helm), "UPDATE", target, before) is called
    decision = builders.validate(target, kind=kind_of(target), operation="UPDATE", old=before)
    assert (decision.warnings != ()) is called
    if kind == "CronJob":
        # The same in the job template.
        for each, inner in ((target, new), (before, old)):
            each["metadata"] = metadata
            each["spec"]["jobTemplate"]["metadata"] = inner
        assert matches(workloads_hook(helm), "UPDATE", target, before) is called
        decision = builders.validate(target, kind=kind_of(target), operation="UPDATE", old=before)
        assert any("spec.jobTemplate.metadata" in warning for warning in decision.warnings) is called


@pytest.mark.parametrize("spec", [None, {}, {"template": {}}, {"template": {"spec": {}}}, {"jobTemplate": {}},
                                  {"jobTemplate": {"spec": {}}}, {"template": {"metadata": {}}}], ids=str)  # fmt: skip
def test_match_conditions_accept_workloads_of_any_shape(helm: Helm, spec: JsonObject | None) -> None:
    unusual: JsonObject = {"metadata": {}} if spec is None else {"metadata": {}, "spec": spec}
    hook = workloads_hook(helm)
    assert not matches(hook, "CREATE", unusual, None)
    assert not matches(hook, "UPDATE", unusual, workload("Job"))
    assert matches(hook, "UPDATE", workload("Job"), unusual)


def pod_hooks(helm: Helm, kind: str) -> list[JsonObject]:
    """The webhooks for pods of a configuration."""
    return [hook for hook in render(helm).one(kind)["webhooks"] if hook["name"] != WORKLOADS]


def workloads_hook(helm: Helm) -> JsonObject:
    """The webhook for workloads."""
    hook: JsonObject
    (hook,) = (each for each in render(helm).one(CONFIGURATION_KINDS[1])["webhooks"] if each["name"] == WORKLOADS)
    return hook


def selected(selector: JsonObject, labels: dict[str, str]) -> bool:
    """Evaluates a label selector; only the operators that the chart uses."""
    for requirement in selector["matchExpressions"]:
        assert requirement["operator"] in ("In", "NotIn")
        if (labels.get(requirement["key"]) in requirement["values"]) is (requirement["operator"] == "NotIn"):
            return False
    return True


def matches(hook: JsonObject, operation: str, new: JsonObject, old: JsonObject | None) -> bool:
    """Evaluates the match conditions. Raises on errors, with which the API server refuses the request under `Fail`."""
    context: dict[str, Any] = {"object": new, "oldObject": old, "request": {"operation": operation}}
    return all(cel.evaluate(each["expression"], context) is True for each in hook["matchConditions"])
