"""What is kept of an object, and what is read from it."""

import json

import pytest

from tests.controller.examples import FIT, NAME, claim, pod
from webhook.controller import object_metadata
from webhook.controller.claim_actions import decide_action
from webhook.core import claims
from webhook.core.claims.device_request import MAX_FIT_CHARACTERS
from webhook.settings import Settings


def arrived() -> dict[str, object]:
    """A pod as a watch delivers it: with much that nobody here reads."""
    fields = {"manager": "kubelet", "operation": "Update", "fieldsV1": {f"f:{number}": {} for number in range(50)}}
    metadata = pod(annotations={"example.org/note": "x" * 1000, "llmfit.ai/profile": "nvidia"})
    metadata |= {"managedFields": [fields], "resourceVersion": "1", "generateName": "llama-"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}}


def test_trimmed_a_pod_still_gives_the_same_claim() -> None:
    whole, trimmed = arrived(), arrived()
    object_metadata.strip(trimmed)
    config = Settings().admission_config()
    wanted = claims.build_pod_claim(object_metadata.metadata(trimmed), config)
    assert wanted is not None
    assert wanted == claims.build_pod_claim(object_metadata.metadata(whole), config)


def test_trimmed_a_pod_is_small() -> None:
    obj = arrived()
    object_metadata.strip(obj)
    assert len(json.dumps(obj)) < 500
    assert "managedFields" not in str(obj)
    assert "example.org" not in str(obj)
    assert list(obj) == ["metadata"]


def hostile() -> dict[str, object]:
    """A pod with as much as its owner can write of what looks like ours."""
    megabyte = "x" * (1 << 20)
    texts = {f"llmfit.ai/{name}": megabyte for name in ("model-fit", "claim", "profile", "device-count", "junk")}
    owners = [{"kind": "Pod", "name": megabyte, "uid": megabyte, "controller": True, "more": megabyte}] * 3
    metadata = pod(annotations={**texts, "kubernetes.io/config.mirror": megabyte}, ownerReferences=owners)
    return {"metadata": metadata | {"labels": {**texts, "llmfit.ai/inject": megabyte}}}


def test_of_a_pod_that_is_all_junk_little_is_kept() -> None:
    obj, other = hostile(), hostile()
    object_metadata.strip(obj)
    object_metadata.strip(other)
    meta = object_metadata.metadata(obj)
    fit = object_metadata.annotation(meta, "llmfit.ai/model-fit")
    # The same for all such pods.
    assert fit is object_metadata.annotation(object_metadata.metadata(other), "llmfit.ai/model-fit")
    assert len(json.dumps(obj)) - len(fit or "") < 3000
    assert "junk" not in str(obj)


@pytest.mark.parametrize(
    "annotations",
    [
        {"llmfit.ai/model-fit": "{}".ljust(MAX_FIT_CHARACTERS + 1)},
        {"llmfit.ai/model-fit": FIT.ljust(MAX_FIT_CHARACTERS)},
        {"llmfit.ai/profile": "nvidia" * 100},
        {"llmfit.ai/device-count": "1" * 1000},
        {"llmfit.ai/claim": f"{'a' * 300}-claim-3f9a1c2e04"},
    ],
    ids=["a fit that is too long", "the longest fit", "profile", "device count", "claim"],
)
def test_trimmed_a_pod_is_judged_as_before(annotations: dict[str, str | None]) -> None:
    whole = {"metadata": pod(annotations=annotations)}
    trimmed = json.loads(json.dumps(whole))
    object_metadata.strip(trimmed)
    config = Settings().admission_config()
    plans = [decide_action(object_metadata.metadata(each), None, config) for each in (whole, trimmed)]
    assert plans[0] == plans[1]


def test_trimmed_a_claim_still_belongs_to_its_pod() -> None:
    job = {"kind": "Job", "name": "j", "uid": "uid-2", "controller": True}
    ours = {"apiVersion": "v1", "kind": "Pod", "name": "llama", "uid": "uid-1", "controller": True}
    obj: dict[str, object] = {"metadata": {**claim(), "ownerReferences": [job, ours]}}
    object_metadata.strip(obj)
    assert object_metadata.owned_by(object_metadata.metadata(obj), pod(uid="uid-1"))
    assert object_metadata.owner(object_metadata.metadata(obj)) == {
        key: text for key, text in ours.items() if key != "apiVersion"
    }
    nobodys: dict[str, object] = {"metadata": claim(None)}
    object_metadata.strip(nobodys)
    assert object_metadata.owner(object_metadata.metadata(nobodys)) is None


def test_the_same_annotation_on_many_pods_is_kept_once() -> None:
    first, second = json.loads(json.dumps(arrived())), json.loads(json.dumps(arrived()))
    for obj in (first, second):
        object_metadata.strip(obj)
    one, other = (
        object_metadata.annotation(object_metadata.metadata(obj), "llmfit.ai/model-fit") for obj in (first, second)
    )
    assert one is other


def test_trimming_what_is_no_object_does_nothing() -> None:
    for odd in ({}, {"metadata": None}, {"metadata": {"annotations": None, "labels": 3}}):
        obj: dict[str, object] = dict(odd)
        object_metadata.strip(obj)
        assert object_metadata.annotation(object_metadata.metadata(obj), "llmfit.ai/claim") is None


def test_keys_are_those_of_the_informer() -> None:
    assert object_metadata.key(pod()) == "models/llama"
    assert object_metadata.key(pod(), NAME) == f"models/{NAME}"


def test_a_claim_belongs_to_a_pod_by_uid() -> None:
    assert object_metadata.owned_by(claim("uid-1"), pod(uid="uid-1"))
    assert not object_metadata.owned_by(claim("uid-1"), pod(uid="uid-2"))
    assert not object_metadata.owned_by(claim(None), pod())


def test_only_a_controlling_pod_is_an_owner() -> None:
    job = {"kind": "Job", "name": "j", "uid": "uid-1", "controller": True}
    other = {"kind": "Pod", "name": "p", "uid": "uid-1"}
    ours = {"kind": "Pod", "name": "llama", "uid": "uid-1", "controller": True}
    assert object_metadata.owner({"ownerReferences": [job, other]}) is None
    assert object_metadata.owner({"ownerReferences": [job, other, ours]}) == ours
