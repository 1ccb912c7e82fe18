"""What is kept of an object, and what is read from it."""

import json

from webhook.controller import records
from webhook.core import claims
from webhook.settings import Settings

from .examples import NAME, claim, pod


def arrived() -> dict[str, object]:
    """A pod as a watch delivers it: with much that nobody here reads."""
    fields = {"manager": "kubelet", "operation": "Update", "fieldsV1": {f"f:{number}": {} for number in range(50)}}
    metadata = pod(annotations={"example.org/note": "x" * 1000, "llmfit.ai/profile": "nvidia"})
    metadata |= {"managedFields": [fields], "resourceVersion": "1", "generateName": "llama-"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}}


def test_trimmed_a_pod_still_gives_the_same_claim() -> None:
    whole, trimmed = arrived(), arrived()
    records.trim(trimmed)
    policy = Settings().policy()
    wanted = claims.companion(records.metadata(trimmed), policy)
    assert wanted is not None
    assert wanted == claims.companion(records.metadata(whole), policy)


def test_trimmed_a_pod_is_small() -> None:
    obj = arrived()
    records.trim(obj)
    assert len(json.dumps(obj)) < 500
    assert "managedFields" not in str(obj)
    assert "example.org" not in str(obj)
    assert list(obj) == ["metadata"]


def test_the_same_annotation_on_many_pods_is_kept_once() -> None:
    first, second = json.loads(json.dumps(arrived())), json.loads(json.dumps(arrived()))
    for obj in (first, second):
        records.trim(obj)
    one, other = (records.annotation(records.metadata(obj), "llmfit.ai/model-fit") for obj in (first, second))
    assert one is other


def test_trimming_what_is_no_object_does_nothing() -> None:
    for odd in ({}, {"metadata": None}, {"metadata": {"annotations": None, "labels": 3}}):
        obj: dict[str, object] = dict(odd)
        records.trim(obj)
        assert records.annotation(records.metadata(obj), "llmfit.ai/claim") is None


def test_keys_are_those_of_the_informer() -> None:
    assert records.key(pod()) == "models/llama"
    assert records.key(pod(), NAME) == f"models/{NAME}"


def test_a_claim_belongs_to_a_pod_by_uid() -> None:
    assert records.owned_by(claim("uid-1"), pod(uid="uid-1"))
    assert not records.owned_by(claim("uid-1"), pod(uid="uid-2"))
    assert not records.owned_by(claim(None), pod())


def test_only_a_controlling_pod_is_an_owner() -> None:
    job = {"kind": "Job", "name": "j", "uid": "uid-1", "controller": True}
    other = {"kind": "Pod", "name": "p", "uid": "uid-1"}
    ours = {"kind": "Pod", "name": "llama", "uid": "uid-1", "controller": True}
    assert records.owner({"ownerReferences": [job, other]}) is None
    assert records.owner({"ownerReferences": [job, other, ours]}) == ours
