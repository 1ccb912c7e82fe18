"""Manifests of claims and templates: valid under Kubernetes' schemas, equal in every process, and llmfit's documented
one exactly."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias, get_args

import kubernetes_validate
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.builders import FIT, Json, fit
from tests.core.claim_specs import alternatives, request
from tests.core.schemas import assert_label, assert_valid
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import api_versions, claim_names, device_request
from webhook.core.profiles import BUILTIN
from webhook.errors import Denied

Kind: TypeAlias = Literal["claim", "template"]

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "llama", "uid": "1-2-3", "controller": True}


def manifest(text: str = FIT, profile: str = "nvidia", count: str = "1", **parts: Any) -> Json:
    built: Json = claims.build_manifest(request(text, profile, count), **{"name": "x", **parts})
    return built


def keys(value: object) -> Iterator[str]:
    """Every key at any depth."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for child in value:
            yield from keys(child)


def test_the_v1alpha2_manifest_is_the_one_in_llmfits_documentation() -> None:
    text = '{"model":"llama-7b","min_ram_gb":12,"min_vram_gb":8}'
    name = claim_names.from_model(request(text).requirements)
    assert json.dumps(manifest(text, name=name, api_version="v1alpha2")) == json.dumps(
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
def test_the_v1alpha2_manifest_has_exact_gibibytes(text: str, resources: Json) -> None:
    assert manifest(text, api_version="v1alpha2")["spec"]["resources"] == resources


def test_the_v1alpha2_template_contains_the_spec_of_the_claim() -> None:
    template = manifest(kind="template", api_version="v1alpha2")
    assert template["kind"] == "ResourceClaimTemplate"
    assert template["spec"] == {"spec": manifest(api_version="v1alpha2")["spec"]}


def test_the_v1_claim_requests_one_device_with_enough_memory() -> None:
    assert manifest(name="llama-7b-claim-58989f2cda", namespace="team-a") == {
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


def test_a_fraction_of_a_gibibyte_is_requested_in_mebibytes() -> None:
    (alternative,) = alternatives(manifest(fit(vram_gb=12.5))["spec"])
    assert alternative["capacity"]["requests"]["memory"] == "12800Mi"
    assert 'quantity("12800Mi")' in alternative["selectors"][0]["cel"]["expression"]


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("count", ["1", "2", "32", "auto"])
@pytest.mark.parametrize("profile", BUILTIN)
def test_every_manifest_is_valid(profile: str, count: str, kind: Kind) -> None:
    text = fit(memoryGi=9.5, minBandwidthGBs=161, model="Qwen/Qwen2.5-7B", supports_tp=[1, 2, 4, 8])
    owner = OWNER if kind == "claim" else None
    document = manifest(text, profile, count, namespace="team-a", kind=kind, owner=owner)
    assert_valid(document)
    spec = document["spec"] if kind == "claim" else document["spec"]["spec"]
    assert len(spec["devices"]["requests"]) == 1
    listed = list(alternatives(spec))
    assert 1 <= len(listed) <= 8
    if "firstAvailable" in spec["devices"]["requests"][0]:
        for each in listed:
            assert_label(each["name"])
        assert len({each["name"] for each in listed}) == len(listed)


@pytest.mark.parametrize("placement", ["any", "tightest"])
@pytest.mark.parametrize("count", ["1", "2", "auto"])
@pytest.mark.parametrize("profile", BUILTIN)
@pytest.mark.parametrize("version", api_versions.SERVED_VERSIONS)
def test_every_served_version_is_valid(
    version: str, profile: str, count: str, placement: Literal["any", "tightest"]
) -> None:
    config = AdmissionConfig(placement=placement)
    asked = request(fit(vram_gb=9.5, supports_tp=[1, 2, 4]), profile, count, config)
    claim: Json = claims.build_manifest(asked, name="x", api_version=version)
    assert claim["apiVersion"] == f"resource.k8s.io/{version}"
    kubernetes_validate.validate(claim, "1.34", strict=True)
    devices = claim["spec"]["devices"]
    (only,) = devices["requests"]
    shapes = {"exactly", "firstAvailable"} | ({"deviceClassName"} if version == "v1beta1" else set())
    assert len(shapes & only.keys()) == 1
    assert version != "v1beta1" or "exactly" not in only
    names = {only["name"]} | {f"{only['name']}/{each['name']}" for each in only.get("firstAvailable", [])}
    for constraint in devices.get("constraints", []):
        assert set(constraint["requests"]) <= names
    assert ("constraints" in devices) is (count != "1")
    assert "adminAccess" not in set(keys(claim))


def test_a_template_has_provenance_and_its_claims_do_not_inherit_it() -> None:
    template = manifest(kind="template")
    assert template["metadata"] == {
        "name": "x",
        "labels": {"app.kubernetes.io/managed-by": "modelfit"},
        "annotations": {"llmfit.ai/gpu-memory": "8Gi", "llmfit.ai/memory": "12Gi", "llmfit.ai/model": "llama-7b"},
    }
    assert list(template["spec"]) == ["spec"]


def test_the_owner_reference_is_optional() -> None:
    assert manifest(owner=OWNER)["metadata"]["ownerReferences"] == [OWNER]
    assert "ownerReferences" not in manifest()["metadata"]


@pytest.mark.parametrize("version", ["v1alpha3", "v2", "", "resource.k8s.io/v1"])
def test_an_unknown_api_version_raises_value_error(version: str) -> None:
    with pytest.raises(ValueError, match="api_version"):
        manifest(api_version=version)


@given(
    st.dictionaries(
        st.sampled_from(["llmfit.ai/profile", "llmfit.ai/device-count", "llmfit.ai/containers", "llmfit.ai/claim"])
        | st.text(max_size=30),
        st.sampled_from([*BUILTIN, "1", "2", "auto", "true"]) | st.text(max_size=30),
        max_size=5,
    ),
    st.dictionaries(st.sampled_from(["adminAccess", "deviceClass", "spec", "selectors", "tolerations"]), st.text()),
)
def test_a_pod_can_influence_only_amounts_count_and_profile_of_its_claim(
    annotations: dict[str, str], extra: dict[str, str]
) -> None:
    text = fit(min_vram_gb=8, supports_tp=[1, 2], **extra)
    try:
        asked = device_request.from_annotations(annotations | {"llmfit.ai/model-fit": text}, AdmissionConfig())
    except Denied:
        return
    count = annotations.get("llmfit.ai/device-count", "1")
    plain = request(fit(min_vram_gb=8, supports_tp=[1, 2]), asked.profile.name, count)
    spec = claims.build_spec(asked)
    assert spec == claims.build_spec(plain)
    assert "adminAccess" not in set(keys(spec))


def test_manifests_are_equal_in_every_process() -> None:
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
        request = device_request.from_annotations(annotations, config)
        print(json.dumps(claims.build_manifest(request, name="x")))
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
@example("x" * 300)
def test_any_model_name_can_be_written_into_a_manifest(model: str) -> None:
    document = manifest(fit(model=model, min_vram_gb=8))
    assert json.dumps(document, ensure_ascii=False).encode()
    assert len(document["metadata"]["annotations"].get("llmfit.ai/model", "")) <= 253
