"""Whole manifests: valid to Kubernetes' own schema, llmfit's documented one to the letter, the same bytes each time."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Literal

import kubernetes_validate
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.builders import FIT, Json, fit
from tests.core.claim_specs import alternatives as requests
from tests.core.schemas import assert_label, assert_valid
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import claim_names, device_request
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.profiles import BUILTIN
from webhook.errors import Denied

KINDS: tuple[Literal["claim", "template"], ...] = ("claim", "template")


def asked(text: str = FIT, profile: str = "nvidia", count: str = "1") -> DeviceRequest:
    annotations = {"llmfit.ai/model-fit": text, "llmfit.ai/profile": profile, "llmfit.ai/device-count": count}
    return device_request.from_annotations(annotations, AdmissionConfig())


def documented(text: str, kind: Literal["claim", "template"] = "claim") -> Json:
    wanted = asked(text)
    return claims.build_manifest(
        wanted, name=claim_names.from_model(wanted.requirements), kind=kind, api_version="v1alpha2"
    )


def test_the_documented_manifest_is_printed_to_the_letter() -> None:
    assert json.dumps(documented('{"model":"llama-7b","min_ram_gb":12,"min_vram_gb":8}')) == json.dumps(
        {
            "apiVersion": "resource.k8s.io/v1alpha2",
            "kind": "ResourceClaim",
            "metadata": {"name": "llama-7b-claim"},
            "spec": {
                "resourceClassName": "gpu-memory-class",
                "resources": {"memory": "12Gi", "gpu.memory": "8Gi"},
            },
        }
    )


@pytest.mark.parametrize(
    ("text", "resources"),
    [
        (fit(min_ram_gb=12, min_vram_gb=8, estimated_vram_gb=9), {"memory": "12Gi", "gpu.memory": "9Gi"}),
        (fit(min_ram_gb=12, min_vram_gb=8, estimated_memory_gb=13), {"memory": "13Gi", "gpu.memory": "8Gi"}),
        (fit(ram_gb=12, vram_gb=8), {"memory": "12Gi", "gpu.memory": "8Gi"}),
        (fit(ram_gb=12.5, vram_gb=12.50), {"memory": "12.5Gi", "gpu.memory": "12.5Gi"}),
        (fit(vram_gb=8), {"gpu.memory": "8Gi"}),
    ],
)
def test_the_documented_manifest_keeps_plain_gibibytes(text: str, resources: Json) -> None:
    assert documented(text)["spec"]["resources"] == resources


def test_the_documented_template_wraps_the_same_spec() -> None:
    template = documented(FIT, "template")
    assert template["kind"] == "ResourceClaimTemplate"
    assert template["spec"] == {"spec": documented(FIT)["spec"]}


def test_the_native_claim_asks_for_one_device_with_enough_memory() -> None:
    claim: Json = claims.build_manifest(asked(), name="llama-7b-claim-58989f2cda", namespace="team-a")
    assert claim == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": "llama-7b-claim-58989f2cda",
            "namespace": "team-a",
            "labels": {"app.kubernetes.io/managed-by": "modelfit"},
            "annotations": {
                "llmfit.ai/gpu-memory": "8Gi",
                "llmfit.ai/memory": "12Gi",
                "llmfit.ai/model": "llama-7b",
            },
        },
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "gpu",
                        "exactly": {
                            "deviceClassName": "gpu.nvidia.com",
                            "selectors": [
                                {
                                    "cel": {
                                        "expression": '"gpu.nvidia.com" in device.capacity && '
                                        '"memory" in device.capacity["gpu.nvidia.com"] && '
                                        'device.capacity["gpu.nvidia.com"]["memory"]'
                                        '.compareTo(quantity("8Gi")) >= 0'
                                    }
                                }
                            ],
                            "capacity": {"requests": {"memory": "8Gi"}},
                        },
                    }
                ]
            }
        },
    }


def test_twelve_and_a_half_is_twelve_thousand_eight_hundred_mebibytes() -> None:
    claim: Json = claims.build_manifest(asked(fit(vram_gb=12.5)), name="x")
    (request,) = requests(claim["spec"])
    assert request["capacity"]["requests"]["memory"] == "12800Mi"
    assert 'quantity("12800Mi")' in request["selectors"][0]["cel"]["expression"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", ["1", "2", "32", "auto"])
@pytest.mark.parametrize("profile", BUILTIN)
def test_every_manifest_is_what_an_api_server_takes(
    profile: str, count: str, kind: Literal["claim", "template"]
) -> None:
    text = fit(memoryGi=9.5, minBandwidthGBs=161, model="Qwen/Qwen2.5-7B", supports_tp=[1, 2, 4, 8])
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "llama", "uid": "1-2-3", "controller": True}
    document: Json = claims.build_manifest(
        asked(text, profile, count), name="x", namespace="team-a", kind=kind, owner=owner if kind == "claim" else None
    )
    assert_valid(document)
    spec = document["spec"] if kind == "claim" else document["spec"]["spec"]
    assert len(spec["devices"]["requests"]) == 1
    alternatives = list(requests(spec))
    assert 1 <= len(alternatives) <= 8
    if "firstAvailable" in spec["devices"]["requests"][0]:
        for alternative in alternatives:
            assert_label(alternative["name"])
        assert len({alternative["name"] for alternative in alternatives}) == len(alternatives)


@pytest.mark.parametrize("placement", ["any", "tightest"])
@pytest.mark.parametrize("count", ["1", "2", "auto"])
@pytest.mark.parametrize("profile", BUILTIN)
@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_every_served_version_is_what_its_api_servers_take(
    version: str, profile: str, count: str, placement: Literal["any", "tightest"]
) -> None:
    annotations = {"llmfit.ai/model-fit": fit(vram_gb=9.5, supports_tp=[1, 2, 4]), "llmfit.ai/device-count": count}
    config = AdmissionConfig(profile=profile, placement=placement)
    claim: Json = claims.build_manifest(
        device_request.from_annotations(annotations, config), name="x", api_version=version
    )
    assert claim["apiVersion"] == f"resource.k8s.io/{version}"
    kubernetes_validate.validate(claim, "1.34", strict=True)
    devices = claim["spec"]["devices"]
    (request,) = devices["requests"]
    shapes = {"exactly", "firstAvailable"} | ({"deviceClassName"} if version == "v1beta1" else set())
    assert len(shapes & request.keys()) == 1
    assert version != "v1beta1" or "exactly" not in request
    names = {request["name"]} | {f"{request['name']}/{each['name']}" for each in request.get("firstAvailable", [])}
    for constraint in devices.get("constraints", []):
        assert set(constraint["requests"]) <= names
    assert ("constraints" in devices) is (count != "1")
    assert "adminAccess" not in set(members(claim))


def test_a_template_keeps_its_provenance_and_passes_none_of_it_on() -> None:
    template: Json = claims.build_manifest(asked(), name="x", kind="template")
    assert template["metadata"] == {
        "name": "x",
        "labels": {"app.kubernetes.io/managed-by": "modelfit"},
        "annotations": {"llmfit.ai/gpu-memory": "8Gi", "llmfit.ai/memory": "12Gi", "llmfit.ai/model": "llama-7b"},
    }
    assert list(template["spec"]) == ["spec"]


def test_an_owner_is_copied_exactly() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "llama", "uid": "1-2-3", "controller": True}
    claim: Json = claims.build_manifest(asked(), name="x", owner=owner)
    assert claim["metadata"]["ownerReferences"] == [owner]
    assert "ownerReferences" not in claims.build_manifest(asked(), name="x")["metadata"]  # type: ignore[operator]


def test_a_version_that_is_not_written_is_an_error_of_the_caller() -> None:
    for version in ("v1alpha3", "v2", "", "resource.k8s.io/v1"):
        with pytest.raises(ValueError, match="api_version"):
            claims.build_manifest(asked(), name="x", api_version=version)


def members(value: object) -> Iterator[str]:
    """Every key at any depth."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield key
            yield from members(child)
    elif isinstance(value, list):
        for child in value:
            yield from members(child)


@given(
    st.dictionaries(
        st.sampled_from(["llmfit.ai/profile", "llmfit.ai/device-count", "llmfit.ai/containers", "llmfit.ai/claim"])
        | st.text(max_size=30),
        st.sampled_from([*BUILTIN, "1", "2", "auto", "true"]) | st.text(max_size=30),
        max_size=5,
    ),
    st.dictionaries(st.sampled_from(["adminAccess", "deviceClass", "spec", "selectors", "tolerations"]), st.text()),
)
def test_nothing_that_a_pod_says_reaches_a_spec_but_amounts_and_a_profiles_name(
    annotations: dict[str, str], extra: dict[str, str]
) -> None:
    text = fit(min_vram_gb=8, supports_tp=[1, 2], **extra)
    try:
        wanted = device_request.from_annotations(annotations | {"llmfit.ai/model-fit": text}, AdmissionConfig())
    except Denied:
        return
    plain = asked(
        fit(min_vram_gb=8, supports_tp=[1, 2]), wanted.profile.name, annotations.get("llmfit.ai/device-count", "1")
    )
    made = claims.build_spec(wanted)
    assert made == claims.build_spec(plain)
    assert "adminAccess" not in set(members(made))


def test_equal_input_gives_the_same_bytes_in_every_process() -> None:
    program = """
import json
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
config = AdmissionConfig()
for profile in sorted(config.profiles):
    for count in ("1", "auto"):
        fit = '{"model": "a", "min_vram_gb": 9.7, "min_ram_gb": 3, "supports_tp": [4, 1, 2]}'
        annotations = {"llmfit.ai/model-fit": fit, "llmfit.ai/profile": profile, "llmfit.ai/device-count": count}
        asked = device_request.from_annotations(annotations, config)
        print(json.dumps(claims.build_manifest(asked, name="x")))
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().count(b"\n") == 2 * len(BUILTIN)


@given(st.text(max_size=400) | st.text("\ud800\udfffx", max_size=5))
def test_any_models_name_can_be_written_down(model: str) -> None:
    document = claims.build_manifest(asked(fit(model=model, min_vram_gb=8)), name="x")
    assert json.dumps(document, ensure_ascii=False).encode()
    annotations = document["metadata"]["annotations"]  # type: ignore[index]
    assert len(annotations.get("llmfit.ai/model", "")) <= 253
