"""Parsing of an AdmissionReview, and malformed calls."""

import pytest

from tests.core.builders import UID, Json, body, container, mutate, parse_review, pod, validate
from webhook.core.admission import review
from webhook.errors import MalformedCall


def test_the_fields_of_a_review_are_parsed() -> None:
    target = pod()
    parsed = parse_review(target, operation="UPDATE", old=target, dryRun=True, subResource="status")
    assert (parsed.uid, parsed.group, parsed.kind, parsed.operation) == (UID, "", "Pod", "UPDATE")
    assert (parsed.namespace, parsed.subresource, parsed.dry_run) == ("team-a", "status", True)
    assert parsed.object == parsed.old_object == target
    assert parsed.is_pod


@pytest.mark.parametrize(
    ("value", "expected"), [(True, True), (False, False), (None, False), ("true", False), (1, False)]
)
def test_only_true_is_a_dry_run(value: object, expected: bool) -> None:
    assert parse_review(pod(), dryRun=value).dry_run is expected


def without(document: Json, *keys: str) -> Json:
    return {key: value for key, value in document.items() if key not in keys}


REVIEW = body(pod())


@pytest.mark.parametrize(
    ("document", "part"),
    [
        ([], "not a JSON object"),
        (None, "not a JSON object"),
        ("x", "not a JSON object"),
        ({}, "want admission.k8s.io/v1 AdmissionReview"),
        (without(REVIEW, "kind"), "want admission.k8s.io/v1 AdmissionReview"),
        (REVIEW | {"apiVersion": "admission.k8s.io/v1beta1"}, '"admission.k8s.io/v1beta1"'),
        (REVIEW | {"kind": "Pod"}, '"Pod"'),
        (REVIEW | {"kind": {"a": "\x1b"}}, "want admission.k8s.io/v1 AdmissionReview"),
        (without(REVIEW, "request"), "request: want an object"),
        (REVIEW | {"request": []}, "request: want an object"),
        (body(pod(), uid=""), "request.uid"),
        (body(pod(), uid=None), "request.uid"),
        (body(pod(), uid=7), "request.uid: want a string"),
        (body(pod(), uid="x" * 1025), "request.uid"),
        (REVIEW | {"request": REVIEW["request"] | {"kind": "Pod"}}, "request.kind: want an object"),
        (REVIEW | {"request": REVIEW["request"] | {"kind": {"kind": 7}}}, "request.kind.kind: want a string"),
        (body(pod(), operation=1), "request.operation: want a string"),
        (body(pod(), namespace=["a"]), "request.namespace: want a string"),
        (body(pod(), subResource=True), "request.subResource: want a string"),
        (body(pod(), object="pod"), "request.object: want an object"),
        (body(pod(), old=[]), "request.oldObject: want an object"),
    ],
)
def test_anything_but_an_admission_review_is_a_malformed_call(document: object, part: str) -> None:
    with pytest.raises(MalformedCall) as malformed:
        review.parse(document)
    assert malformed.value.status == 400
    assert part in str(malformed.value)
    assert str(malformed.value).isprintable()


ANNOTATED = {"annotations": {"llmfit.ai/model-fit": "{}"}}


@pytest.mark.parametrize(
    ("target", "part"),
    [
        (None, "request.object: want the Pod"),
        ({"metadata": []}, "object.metadata: want an object"),
        ({"metadata": {"annotations": []}}, "metadata.annotations: want an object"),
        ({"metadata": {"annotations": {"a": 1}}}, 'metadata.annotations["a"]: want a string; put the value in quotes'),
        ({"metadata": ANNOTATED | {"labels": "x"}}, "metadata.labels: want an object"),
        (
            {"metadata": ANNOTATED | {"labels": {"x": True}}},
            'metadata.labels["x"]: want a string; put the value in quotes',
        ),
        ({"metadata": ANNOTATED, "spec": "x"}, "object.spec: want an object"),
        ({"metadata": ANNOTATED, "spec": {"containers": {}}}, "spec.containers: want a list"),
        ({"metadata": ANNOTATED, "spec": {"containers": ["x"]}}, "spec.containers[0]: want an object"),
        ({"metadata": ANNOTATED, "spec": {"initContainers": [1]}}, "spec.initContainers[0]: want an object"),
        (pod(resourceClaims={}), "spec.resourceClaims: want a list"),
        (pod(containers=[container(resources=[])]), "spec.containers[0].resources: want an object"),
        (pod(containers=[container(resources={"limits": 1})]), "spec.containers[0].resources.limits: want an object"),
    ],
)
def test_an_object_that_cannot_be_a_pod_is_a_malformed_call(target: Json | None, part: str) -> None:
    for step in (mutate, validate):
        with pytest.raises(MalformedCall) as malformed:
            step(pod(), object=target)
        assert part in str(malformed.value)


@pytest.mark.parametrize("entry", ["modelfit", None, 7, [], {}, {"name": None}, {"name": ["modelfit"]}])
def test_list_entries_of_other_types_are_ignored(entry: object) -> None:
    target = pod(resourceClaims=[entry], containers=[container(resources={"claims": [entry]})])
    assert mutate(target).allowed
