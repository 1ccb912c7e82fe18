"""What `strip` keeps of an object, and what is read from its metadata."""

import json

import pytest

from tests.controller.sample_metadata import CLAIM_NAME, FIT, claim, pod
from webhook.controller import object_metadata
from webhook.controller.claim_actions import decide_action
from webhook.core.claims.device_request import MAX_FIT_CHARACTERS
from webhook.json_tree import get_object, get_text
from webhook.settings import Settings

FIT_KEY = "llmfit.ai/model-fit"


def watched_pod() -> dict[str, object]:
    """A pod as a watch delivers it."""
    fields = {"manager": "kubelet", "operation": "Update", "fieldsV1": {f"f:{number}": {} for number in range(50)}}
    metadata = pod(annotations={"example.org/note": "x" * 1000, "llmfit.ai/profile": "nvidia"})
    metadata |= {"managedFields": [fields], "resourceVersion": "1", "generateName": "llama-"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}}


def oversized_pod() -> dict[str, object]:
    """A pod whose owner filled every field that is read."""
    megabyte = "x" * (1 << 20)
    texts = {f"llmfit.ai/{name}": megabyte for name in ("model-fit", "claim", "profile", "device-count", "junk")}
    owners = [{"kind": "Pod", "name": megabyte, "uid": megabyte, "controller": True, "more": megabyte}] * 3
    metadata = pod(annotations={**texts, "kubernetes.io/config.mirror": megabyte}, ownerReferences=owners)
    return {"metadata": metadata | {"labels": {**texts, "llmfit.ai/inject": megabyte}}}


def stripped(obj: dict[str, object]) -> dict[str, object]:
    """A stripped copy, which shares no text with the original."""
    copy: dict[str, object] = json.loads(json.dumps(obj))
    object_metadata.strip(copy)
    return copy


def test_a_stripped_pod_is_small() -> None:
    obj = stripped(watched_pod())
    assert len(json.dumps(obj)) < 500
    assert "managedFields" not in str(obj)
    assert "example.org" not in str(obj)
    assert list(obj) == ["metadata"]


def test_little_is_kept_of_an_oversized_pod() -> None:
    obj, other = stripped(oversized_pod()), stripped(oversized_pod())
    fit = get_text(obj, "metadata", "annotations", FIT_KEY)
    assert fit is get_text(other, "metadata", "annotations", FIT_KEY)
    assert len(json.dumps(obj)) - len(fit or "") < 3000
    assert "junk" not in str(obj)


@pytest.mark.parametrize(
    "annotations",
    [
        {},
        {FIT_KEY: "{}".ljust(MAX_FIT_CHARACTERS + 1)},
        {FIT_KEY: FIT.ljust(MAX_FIT_CHARACTERS)},
        {"llmfit.ai/profile": "nvidia" * 100},
        {"llmfit.ai/device-count": "1" * 1000},
        {"llmfit.ai/claim": f"{'a' * 300}-claim-3f9a1c2e04"},
    ],
    ids=["ordinary", "a fit that is too long", "the longest fit", "profile", "device count", "claim"],
)
def test_stripping_a_pod_does_not_change_the_action(annotations: dict[str, str | None]) -> None:
    config = Settings().admission_config()
    obj: dict[str, object] = {"metadata": pod(annotations=annotations)}
    actions = [decide_action(get_object(each, "metadata"), None, config) for each in (obj, stripped(obj))]
    assert actions[0] == actions[1]


def test_stripping_a_claim_keeps_its_owner() -> None:
    job = {"kind": "Job", "name": "j", "uid": "uid-2", "controller": True}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "llama", "uid": "uid-1", "controller": True}
    metadata = get_object(stripped({"metadata": {**claim(), "ownerReferences": [job, owner]}}), "metadata")
    assert object_metadata.is_owned_by(metadata, pod(uid="uid-1"))
    assert object_metadata.owning_pod(metadata) == {key: text for key, text in owner.items() if key != "apiVersion"}
    assert object_metadata.owning_pod(get_object(stripped({"metadata": claim(None)}), "metadata")) is None


def test_equal_fits_are_stored_once() -> None:
    first, second = (get_text(stripped(watched_pod()), "metadata", "annotations", FIT_KEY) for _ in range(2))
    assert first == FIT
    assert first is second


@pytest.mark.parametrize("obj", [{}, {"metadata": None}, {"metadata": {"annotations": None, "labels": 3}}], ids=str)
def test_stripping_a_malformed_object_changes_nothing(obj: dict[str, object]) -> None:
    assert stripped(obj) == obj


def test_a_key_is_that_of_the_informers() -> None:
    assert object_metadata.key(pod()) == "models/llama"
    assert object_metadata.key(pod(), CLAIM_NAME) == f"models/{CLAIM_NAME}"


def test_a_claim_belongs_to_a_pod_by_uid() -> None:
    assert object_metadata.is_owned_by(claim("uid-1"), pod(uid="uid-1"))
    assert not object_metadata.is_owned_by(claim("uid-1"), pod(uid="uid-2"))
    assert not object_metadata.is_owned_by(claim(None), pod())


def test_only_a_controlling_pod_is_an_owner() -> None:
    job = {"kind": "Job", "name": "j", "uid": "uid-1", "controller": True}
    other = {"kind": "Pod", "name": "p", "uid": "uid-1"}
    owner = {"kind": "Pod", "name": "llama", "uid": "uid-1", "controller": True}
    assert object_metadata.owning_pod({"ownerReferences": [job, other]}) is None
    assert object_metadata.owning_pod({"ownerReferences": [job, other, owner]}) == owner
