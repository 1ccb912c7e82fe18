"""Workloads whose JSON has no template, or members of unexpected types."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core import builders
from tests.core.builders import WORKLOADS, Json, kind_of, pod, workload
from tests.core.test_template_decision import INVALID, validate
from webhook.core.admission import pod_templates
from webhook.core.admission.decision import Decision
from webhook.errors import MalformedCall
from webhook.reasons import Reason


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Deployment", None),
        ("Deployment", {}),
        ("ReplicationController", {"template": None}),
        ("Job", {"template": {"metadata": None, "spec": None}}),
        ("CronJob", {"template": {"metadata": {"annotations": {"llmfit.ai/model-fit": "{"}}}}),
        ("CronJob", {"jobTemplate": None}),
        ("CronJob", {"jobTemplate": {"metadata": {"annotations": {"a": "b"}}, "spec": {}}}),
        ("Deployment", {"jobTemplate": {"metadata": {"annotations": {"llmfit.ai/model-fit": "{"}}}}),
        ("Deployment", {"jobTemplate": {"spec": {"template": INVALID}}}),
    ],
)
def test_a_workload_without_a_template_is_not_annotated(kind: str, spec: object) -> None:
    assert validate(workload(kind) | {"spec": spec}) == Decision(True, Reason.NOT_ANNOTATED)


ANNOTATED = {"metadata": {"annotations": {"llmfit.ai/model-fit": "{}"}}}


@pytest.mark.parametrize(
    ("members", "part"),
    [
        ({"spec": []}, "object.spec: want an object"),
        ({"spec": {"template": "x"}}, "object.spec.template: want an object"),
        ({"spec": {"template": {"metadata": []}}}, "object.spec.template.metadata: want an object"),
        ({"spec": {"template": ANNOTATED | {"spec": 1}}}, "object.spec.template.spec: want an object"),
        (
            {"spec": {"template": {"metadata": {"annotations": [1]}}}},
            "spec.template.metadata.annotations: want an object",
        ),
        (
            {"spec": {"template": {"metadata": {"annotations": {"a": 1}}}}},
            'spec.template.metadata.annotations["a"]: want a string; put the value in quotes',
        ),
        (
            {"spec": {"template": ANNOTATED | {"spec": {"containers": ["x"]}}}},
            "spec.template.spec.containers[0]: want an object",
        ),
        ({"metadata": [], "spec": {"template": ANNOTATED}}, "object.metadata: want an object"),
        (
            {"metadata": {"ownerReferences": "x"}, "spec": {"template": ANNOTATED}},
            "object.metadata.ownerReferences: want a list",
        ),
    ],
)
def test_an_object_that_cannot_be_a_workload_is_a_malformed_call(members: Json, part: str) -> None:
    with pytest.raises(MalformedCall) as malformed:
        validate(workload("Deployment") | members)
    assert str(malformed.value) == part
    assert malformed.value.status == 400


def test_a_review_without_the_object_is_a_malformed_call() -> None:
    with pytest.raises(MalformedCall, match=r"request.object: want the Deployment"):
        builders.validate(pod(), kind=kind_of(workload("Deployment")), object=None)


def test_only_workload_kinds_have_a_template_path() -> None:
    assert (
        pod_templates.find_path("", "Pod")
        is pod_templates.find_path("", "Deployment")
        is pod_templates.find_path("batch", "Job/v1")
        is None
    )
    assert {(group, kind) for kind, group in WORKLOADS.items() if pod_templates.find_path(group, kind) is None} == set()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["template", "jobTemplate", "spec", "metadata", "annotations", "labels", "llmfit.ai/model-fit",
                 "containers", "initContainers", "resources", "ownerReferences", "controller", "name", "nodeName"]
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=24,
)  # fmt: skip


@given(JSON, JSON, st.sampled_from(sorted(WORKLOADS)), st.sampled_from(["CREATE", "UPDATE"]), st.data())
def test_any_json_in_a_workload_gets_a_decision_or_is_a_malformed_call(
    spec: object, old: object, kind: str, operation: str, data: st.DataObject
) -> None:
    """Half of the workloads have a real template around the JSON, so that deep members are reached."""
    target = workload(kind) | {"spec": spec}
    if data.draw(st.booleans()):
        target = workload(kind, pod() | {"metadata": {"annotations": spec}, "spec": old}, ownerReferences=spec)
    try:
        decision = validate(target, operation=operation, old={"metadata": old, "spec": old})
    except MalformedCall:
        return
    assert decision.patch == ()
    assert decision.allowed == (not decision.message)
