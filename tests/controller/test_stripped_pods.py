"""What the controller keeps of a pod: all that an action needs, and little memory, whatever the pod contains."""

import gc
import json
import tracemalloc

import pytest

from tests.controller.sample_metadata import CLAIM_NAME, FIT, pod
from webhook.controller import pod_warnings, stripped_pods
from webhook.controller.claim_actions import decide_action
from webhook.controller.stripped_pods import UnusableFit
from webhook.core.admission.exemptions import InjectedNamespaces
from webhook.core.claims.device_request import MAX_FIT_BYTES, DeviceRequest
from webhook.json_tree import get_object
from webhook.settings import Settings

FIT_KEY = "llmfit.ai/model-fit"
CONFIG = Settings().admission_config()
EMOJI = "\N{ROCKET}"
"""One of it makes Python store four bytes for every character of the text."""
KIBIBYTE = 1 << 10


def container(**resources: object) -> dict[str, object]:
    return {"name": "app", "image": "x" * 1000, "env": [{"name": "A", "value": "b"}] * 50, "resources": resources}


def watched_pod(fit: str = FIT, uid: str = "uid-1") -> dict[str, object]:
    """A pod as a watch delivers it."""
    fields = {"manager": "kubelet", "operation": "Update", "fieldsV1": {f"f:{number}": {} for number in range(50)}}
    limits = {"memory": "16Gi", "cpu": "4", "example.com/gpu": "1"}
    containers = [container(claims=[{"name": "modelfit"}], limits=limits, requests=limits), container()]
    made = pod(uid=uid, annotations={FIT_KEY: fit, "example.org/note": "x" * 1000}, spec={"containers": containers})
    metadata = {**get_object(made, "metadata"), "managedFields": [fields], "resourceVersion": "1"}
    return {"apiVersion": "v1", "kind": "Pod", **made, "metadata": metadata, "status": {"phase": "Pending"}}


def filled_pod(uid: str) -> dict[str, object]:
    """A pod whose owner filled every field that is read."""
    long = f"{uid}{'x' * (10 * KIBIBYTE)}{EMOJI}"
    texts = {f"llmfit.ai/{name}": long for name in ("model-fit", "claim", "profile", "device-count", "junk", "inject")}
    limits = {"memory": long, **{f"example.com/{number}{long}": long for number in range(20)}}
    containers = [container(claims=[{"name": "modelfit"}] * 3, limits=limits)] * 30
    entries = [{"name": "modelfit", "resourceClaimName": long}] * 20
    spec = {"resourceClaims": entries, "containers": containers, "initContainers": containers, "nodeName": long}
    owners = [{"kind": "Pod", "name": long, "uid": long, "controller": True}] * 3
    annotations = {**texts, "kubernetes.io/config.mirror": long}
    return pod(uid=uid, annotations=annotations, labels=texts, ownerReferences=owners, spec=spec)


def stripped(obj: dict[str, object]) -> dict[str, object]:
    """A stripped copy, which shares no text with the original."""
    copy: dict[str, object] = json.loads(json.dumps(obj))
    # A listed pod is stripped twice.
    for _ in range(2):
        stripped_pods.stripper(CONFIG)(copy)
    return copy


def bytes_per_pod(pods: list[dict[str, object]]) -> float:
    stripped(pods[0])
    gc.collect()
    tracemalloc.start()
    try:
        kept = [stripped(each) for each in pods]
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / len(kept)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("fit", "limit"),
    [
        (FIT, 6 * KIBIBYTE),
        ("{" + EMOJI + "x" * (MAX_FIT_BYTES - 8), 6 * KIBIBYTE),
        ("x" * (200 * KIBIBYTE), 6 * KIBIBYTE),
        (FIT.replace("llama-7b", EMOJI + "x" * (MAX_FIT_BYTES - 100)), 6 * KIBIBYTE),
    ],
    ids=["ordinary", "unusable with an emoji", "too long", "long name with an emoji"],
)
def test_ten_thousand_pods_take_less_than_a_third_of_the_promised_memory(fit: str, limit: int) -> None:
    pods = [watched_pod(f"{fit} {' ' * number}", f"uid-{number}") for number in range(300)]
    assert bytes_per_pod(pods) < limit
    assert 10_000 * limit < 200 * KIBIBYTE**2 / 3


def test_little_is_kept_of_a_pod_with_every_field_filled() -> None:
    # 128 extended resources in 16 containers; a pod that large has 1.5 MB.
    assert bytes_per_pod([filled_pod(f"{number}") for number in range(5)]) < 400 * KIBIBYTE


@pytest.mark.parametrize(
    "changes",
    [
        {"annotations": {}},
        {"annotations": {FIT_KEY: "{}".ljust(MAX_FIT_BYTES + 1)}},
        {"annotations": {FIT_KEY: FIT.ljust(MAX_FIT_BYTES)}},
        {"annotations": {FIT_KEY: None}},
        {"annotations": {"llmfit.ai/profile": "nvidia" * 100}},
        {"annotations": {"llmfit.ai/device-count": "1" * 1000}},
        {"annotations": {"llmfit.ai/device-count": "4", "llmfit.ai/profile": "amd"}},
        {"annotations": {"kubernetes.io/config.mirror": "x"}},
        {"labels": {"llmfit.ai/inject": "disabled"}},
        {"spec": {"nodeName": "node-1"}},
        {"spec": {"resourceClaims": [{"name": "a", "resourceClaimName": "b"}]}},
        {"spec": {"resourceClaims": [{"name": "modelfit", "resourceClaimName": f"{'a' * 300}-claim-3f9a1c2e04"}]}},
    ],
    ids=str,
)
def test_stripping_a_pod_does_not_change_the_action(changes: dict[str, dict[str, str]]) -> None:
    obj = pod(**changes)  # type: ignore[arg-type]
    actions = [decide_action(each, None, CONFIG, InjectedNamespaces()) for each in (obj, stripped(obj))]
    assert actions[0] == actions[1]


def test_a_stripped_pod_has_its_request_instead_of_its_annotations() -> None:
    kept = stripped(watched_pod())
    assert isinstance(stripped_pods.device_request(kept, CONFIG), DeviceRequest)
    assert "example.org" not in str(kept)
    assert "image" not in str(kept)
    unusable = stripped_pods.device_request(stripped(watched_pod("{")), CONFIG)
    assert isinstance(unusable, UnusableFit)
    assert unusable.reason == "InvalidModelFit"


def test_stripping_keeps_what_the_warnings_read() -> None:
    kept = stripped(watched_pod(FIT.replace("12", "24")))
    request = stripped_pods.device_request(kept, CONFIG)
    assert isinstance(request, DeviceRequest)
    assert "16Gi" in pod_warnings.memory_limit(kept, request)
    assert [get_object(each, "resources", "limits") for each in stripped_pods.containers(kept)] == [
        {"memory": "16Gi", "example.com/gpu": "1"}
    ]


@pytest.mark.parametrize(
    "obj",
    [{}, {"metadata": None, "spec": None}, {"metadata": {"annotations": None}, "spec": {"containers": [None, 3, {}]}}],
    ids=str,
)
def test_a_malformed_pod_is_stripped_without_an_error(obj: dict[str, object]) -> None:
    assert list(stripped_pods.containers(stripped(obj))) == []
    assert stripped(obj).get("metadata") == obj.get("metadata")


def test_the_entry_is_kept() -> None:
    entry = {"name": "modelfit", "resourceClaimName": CLAIM_NAME}
    other = {"name": "nic", "resourceClaimTemplateName": "nic"}
    assert stripped(pod(spec={"resourceClaims": [other, entry]}))["spec"] == {"resourceClaims": [entry]}
