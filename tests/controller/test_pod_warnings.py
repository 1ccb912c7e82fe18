"""Problems that only the controller sees, as messages of Events."""

import pytest

from tests.controller.sample_metadata import pod
from webhook.controller import pod_warnings
from webhook.controller.stripped_pods import device_request
from webhook.core.claims import build_pod_claim
from webhook.core.claims.device_request import DeviceRequest
from webhook.json_tree import JsonObject
from webhook.settings import Settings

CONFIG = Settings().admission_config()
CLAIM = [{"name": "modelfit"}]


def container(limits: dict[str, object], *, claim: bool = True) -> JsonObject:
    return {"resources": {"limits": limits, **({"claims": CLAIM} if claim else {})}}


def request(target: JsonObject) -> DeviceRequest:
    parsed = device_request(target, CONFIG)
    assert isinstance(parsed, DeviceRequest)
    return parsed


def memory_limit(*limits: str | None, pod_limit: str | None = None, sidecar: str | None = None) -> str:
    containers = [container({} if limit is None else {"memory": limit}) for limit in limits]
    if sidecar:
        containers.append(container({"memory": sidecar}, claim=False))
    resources = {"limits": {"memory": pod_limit}} if pod_limit else {}
    target = pod(spec={"containers": containers, "resources": resources})
    return pod_warnings.memory_limit(target, request(target))


def test_a_limit_below_the_models_memory_is_reported_with_both_amounts() -> None:
    assert 'memory limit is "512Mi", less than the 12Gi' in memory_limit("512Mi")
    assert 'memory limit is "1Gi", less than the 12Gi' in memory_limit("512Mi", "1Gi")
    assert 'memory limit is "2Gi", less than the 12Gi' in memory_limit("16Gi", pod_limit="2Gi")
    assert 'memory limit is "2Gi", less than the 12Gi' in memory_limit(None, pod_limit="2Gi")


@pytest.mark.parametrize("limits", [("12Gi",), ("512Mi", "12Gi"), ("512Mi", None), (None,), ("wrong",)], ids=str)
def test_a_container_that_can_hold_the_model_is_enough(limits: tuple[str | None, ...]) -> None:
    assert memory_limit(*limits, sidecar="64Mi", pod_limit="13Gi") == ""


def test_a_model_without_a_memory_figure_has_no_limit() -> None:
    target = pod(
        annotations={"llmfit.ai/model-fit": '{"min_vram_gb": 8, "model": "a"}'},
        spec={"containers": [container({"memory": "1Mi"})]},
    )
    assert pod_warnings.memory_limit(target, request(target)) == ""


def device_class(name: str, driver: str, resource: str | None = None) -> JsonObject:
    made: JsonObject = {
        "apiVersion": "resource.k8s.io/v1",
        "metadata": {"name": name, "uid": "1", "managedFields": [{}]},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}], "config": [{}]},
    }
    if resource:
        made["spec"]["extendedResourceName"] = resource  # type: ignore[index]
    pod_warnings.strip_class(made)
    return made


NVIDIA = device_class("gpu.nvidia.com", "gpu.nvidia.com", "example.com/claimed")
MAPPED = device_class("mapped", "gpu.nvidia.com", "example.com/mapped")
NIC = device_class("nic", "nic.example.com", "example.com/nic")
CLASSES = {"gpu.nvidia.com": NVIDIA, "mapped": MAPPED, "nic": NIC}


@pytest.mark.parametrize(
    ("resource", "reported"),
    [
        ("example.com/claimed", True),
        ("example.com/mapped", True),
        ("deviceclass.resource.kubernetes.io/gpu.nvidia.com", True),
        ("example.com/nic", False),
        ("deviceclass.resource.kubernetes.io/nic", False),
        ("example.com/other", False),
        ("memory", False),
    ],
)
def test_a_second_way_to_the_claims_devices_is_reported(resource: str, reported: bool) -> None:
    for field in ("containers", "initContainers"):
        for amount, expected in (("1", reported), ("0", False)):
            target = pod(spec={field: [container({resource: amount}, claim=False)]})
            claim = build_pod_claim(target, CONFIG)
            assert claim is not None
            message = pod_warnings.duplicate_devices(target, claim, request(target), CLASSES)
            assert (f'requests "{resource}" beside its ResourceClaim' in message) is expected
            assert bool(message) is expected


def test_little_is_kept_of_a_class() -> None:
    assert device_class("own", "gpu.nvidia.com") == {"metadata": {"name": "own"}, "spec": {}}
    assert set(MAPPED) == {"metadata", "spec"}
    assert set(MAPPED["spec"]) == {"extendedResourceName", "selectors"}  # type: ignore[call-overload]


def test_missing_classes_are_named_once_in_order() -> None:
    alternatives = [{"deviceClassName": name} for name in ("a", "b", "a", "c")]
    claim = {"spec": {"devices": {"requests": [{"name": "gpu", "firstAvailable": alternatives}]}}}
    assert 'DeviceClass "a", "c": not in the cluster' in pod_warnings.missing_classes(claim, ["b"])
    assert pod_warnings.missing_classes(claim, ["a", "b", "c"]) == ""
    exactly = build_pod_claim(pod(), CONFIG)
    assert exactly is not None
    assert 'DeviceClass "gpu.nvidia.com": not in the cluster' in pod_warnings.missing_classes(exactly, ["gpu.amd.com"])
