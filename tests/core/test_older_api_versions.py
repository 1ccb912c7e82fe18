"""Older API versions have no word for a share of a device: what only differed by it is said once."""

from __future__ import annotations

import copy

import pytest

from tests.core.kit import Json
from tests.core.profile_claims import config, listed, spec
from webhook.core.claims import api_versions

OLDER = api_versions.SERVED_VERSIONS[1:]


@pytest.mark.parametrize("version", OLDER)
@pytest.mark.parametrize("profile", ["hami", "example"])
def test_a_share_leaves_an_exact_request_behind(profile: str, version: str) -> None:
    translated: Json = api_versions.convert_spec(spec(profile), version)
    (request,) = translated["devices"]["requests"]
    assert set(request) == ({"name", "exactly"} if version == "v1beta2" else {"name", "deviceClassName", "selectors"})
    assert "capacity" not in str(sorted(request.get("exactly", request)))


def test_alternatives_that_differ_otherwise_stay_in_order() -> None:
    before = spec("example", "auto", config(placement="tightest"))
    translated: Json = api_versions.convert_spec(before, "v1beta2")
    counts = [count for count, _ in listed(before)]
    assert [count for count, _ in listed(translated)] == counts[::2]


def test_a_constraint_names_only_requests_that_are_left() -> None:
    translated: Json = api_versions.convert_spec(spec("example", "auto"), "v1beta1")
    (constraint,) = translated["devices"]["constraints"]
    assert constraint["requests"] == ["gpu/gpu-2", "gpu/gpu-4"]


@pytest.mark.parametrize("version", api_versions.SERVED_VERSIONS)
def test_the_v1_claim_itself_is_left_as_it_is(version: str) -> None:
    claim: Json = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": spec("example", "auto")}
    before = copy.deepcopy(claim)
    assert api_versions.convert_claim(claim, version)["apiVersion"] == f"resource.k8s.io/{version}"
    assert claim == before


@pytest.mark.parametrize("version", OLDER)
def test_system_memory_is_asked_for_in_v1_alone(version: str) -> None:
    made = spec("nvidia", chosen=config(system_memory_class="dra.memory"))
    translated: Json = api_versions.convert_spec(made, version)
    assert [request["name"] for request in translated["devices"]["requests"]] == ["gpu"]
