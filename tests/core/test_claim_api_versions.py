"""Older API versions have no `capacity`: alternatives that differ only by it are listed once."""

import copy

import pytest

from tests.core.builders import Json
from tests.core.claim_specs import config, counts, spec
from webhook.core.claims import api_versions

OLDER = api_versions.SERVED_VERSIONS[1:]


def convert(spec: Json, version: str) -> Json:
    converted: Json = api_versions.convert_spec(spec, version)
    return converted


@pytest.mark.parametrize("version", OLDER)
@pytest.mark.parametrize("profile", ["hami", "example"])
def test_alternatives_that_differ_by_capacity_become_an_exact_request(profile: str, version: str) -> None:
    (request,) = convert(spec(profile=profile), version)["devices"]["requests"]
    assert set(request) == ({"name", "exactly"} if version == "v1beta2" else {"name", "deviceClassName", "selectors"})
    assert "capacity" not in request.get("exactly", request)


def test_alternatives_that_differ_otherwise_stay_in_order() -> None:
    v1 = spec(profile="example", count="auto", config=config(placement="tightest"))
    assert counts(convert(v1, "v1beta2")) == counts(v1)[::2]


def test_a_constraint_refers_to_remaining_alternatives_only() -> None:
    (constraint,) = convert(spec(profile="example", count="auto"), "v1beta1")["devices"]["constraints"]
    assert constraint["requests"] == ["gpu/gpu-2", "gpu/gpu-4"]


@pytest.mark.parametrize("version", api_versions.SERVED_VERSIONS)
def test_conversion_does_not_modify_the_v1_claim(version: str) -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "spec": spec(profile="example", count="auto"),
    }
    before = copy.deepcopy(claim)
    assert api_versions.convert_claim(claim, version)["apiVersion"] == f"resource.k8s.io/{version}"
    assert claim == before


@pytest.mark.parametrize("version", OLDER)
def test_system_memory_is_requested_in_v1_only(version: str) -> None:
    v1 = spec('{"vram_gb": 8, "ram_gb": 12}', config=config(system_memory_class="dra.memory"))
    assert [request["name"] for request in v1["devices"]["requests"]] == ["gpu", "memory"]
    assert [request["name"] for request in convert(v1, version)["devices"]["requests"]] == ["gpu"]
