"""What `strip` keeps of an object's metadata, and what is read from it."""

import json

import pytest

from tests.controller.sample_metadata import CLAIM_NAME, claim, pod_metadata
from webhook.controller import object_metadata
from webhook.json_tree import get_object


def stripped(obj: dict[str, object]) -> dict[str, object]:
    """A stripped copy."""
    copy: dict[str, object] = json.loads(json.dumps(obj))
    object_metadata.strip(copy)
    return copy


def test_stripping_a_claim_keeps_its_owner() -> None:
    job = {"kind": "Job", "name": "j", "uid": "uid-2", "controller": True}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "llama", "uid": "uid-1", "controller": True}
    metadata = get_object(stripped({"metadata": {**claim(), "ownerReferences": [job, owner]}}), "metadata")
    assert object_metadata.is_owned_by(metadata, pod_metadata(uid="uid-1"))
    assert object_metadata.owning_pod(metadata) == {key: text for key, text in owner.items() if key != "apiVersion"}
    assert object_metadata.owning_pod(get_object(stripped({"metadata": claim(None)}), "metadata")) is None


@pytest.mark.parametrize("obj", [{}, {"metadata": None}, {"metadata": {"annotations": None, "labels": 3}}], ids=str)
def test_stripping_a_malformed_object_changes_nothing(obj: dict[str, object]) -> None:
    assert stripped(obj) == obj


def test_a_key_is_that_of_the_informers() -> None:
    assert object_metadata.key(pod_metadata()) == "models/llama"
    assert object_metadata.key(pod_metadata(), CLAIM_NAME) == f"models/{CLAIM_NAME}"


def test_a_claim_belongs_to_a_pod_by_uid() -> None:
    assert object_metadata.is_owned_by(claim("uid-1"), pod_metadata(uid="uid-1"))
    assert not object_metadata.is_owned_by(claim("uid-1"), pod_metadata(uid="uid-2"))
    assert not object_metadata.is_owned_by(claim(None), pod_metadata())


def test_only_a_controlling_pod_is_an_owner() -> None:
    job = {"kind": "Job", "name": "j", "uid": "uid-1", "controller": True}
    other = {"kind": "Pod", "name": "p", "uid": "uid-1"}
    owner = {"kind": "Pod", "name": "llama", "uid": "uid-1", "controller": True}
    assert object_metadata.owning_pod({"ownerReferences": [job, other]}) is None
    assert object_metadata.owning_pod({"ownerReferences": [job, other, owner]}) == owner
