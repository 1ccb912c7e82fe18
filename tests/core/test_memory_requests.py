"""The memory request: added if no request or limit is set, never changed."""

import itertools
from typing import Literal

import pytest

from tests.core.builders import Json, admitted, container, fit, mutate, pod
from webhook.core.admission_config import AdmissionConfig


def target(**resources: object) -> Json:
    return pod(containers=[container(resources=resources)])


def requested(after: Json) -> object:
    """The memory request of the first container."""
    (first, *_) = after["spec"]["containers"]
    return (first.get("resources", {}).get("requests") or {}).get("memory")


@pytest.mark.parametrize("kind", ["requests", "limits"])
@pytest.mark.parametrize("amount", ["0", "1Gi", "12Gi", "64Gi", "1e999999Gi", "many"])
def test_a_containers_memory_request_or_limit_is_kept(kind: str, amount: str) -> None:
    before = target(**{kind: {"memory": amount, "cpu": "1"}})
    after = admitted(before)
    assert after["spec"]["containers"][0]["resources"][kind] == {"memory": amount, "cpu": "1"}
    assert requested(after) == (amount if kind == "requests" else None)


@pytest.mark.parametrize("kind", ["requests", "limits"])
def test_pod_level_memory_is_kept(kind: str) -> None:
    before = pod(resources={kind: {"memory": "64Gi"}})
    after = admitted(before)
    assert requested(after) is None
    assert after["spec"]["resources"] == {kind: {"memory": "64Gi"}}


@pytest.mark.parametrize(
    "level", [{}, None, {"requests": {"cpu": "1"}}, {"limits": None}, {"requests": {"memory": None}}]
)
def test_pod_level_resources_without_memory_do_not_prevent_the_request(level: object) -> None:
    assert requested(admitted(pod(resources=level))) == "12Gi"


def test_memory_of_another_container_does_not_count() -> None:
    before = pod(containers=[container(image="ollama"), container("web", resources={"requests": {"memory": "1Gi"}})])
    after = admitted(before)
    assert requested(after) == "12Gi"
    assert after["spec"]["containers"][1] == before["spec"]["containers"][1]


def test_only_the_first_target_container_gets_the_request() -> None:
    before = pod(
        containers=[container("a"), container("b"), container("c")], annotations={"llmfit.ai/containers": "c,b"}
    )
    after = admitted(before)["spec"]["containers"]
    assert "resources" not in after[0]
    assert after[1]["resources"] == {"claims": [{"name": "modelfit"}]}
    assert after[2]["resources"] == {"claims": [{"name": "modelfit"}], "requests": {"memory": "12Gi"}}


def test_a_null_request_counts_as_absent() -> None:
    assert requested(admitted(target(requests={"memory": None}))) == "12Gi"


@pytest.mark.parametrize("text", [fit(vram_gb=8), fit(vram_gb=8, ram_gb=0), fit(vram_gb=8, ram_gb=None)])
def test_a_fit_without_system_memory_adds_no_request(text: str) -> None:
    after = admitted(pod(text))
    assert requested(after) is None
    assert after["metadata"]["annotations"]["llmfit.ai/resources"] == '{"gpu.memory":"8Gi"}'


def test_memory_requests_can_be_ignored_by_configuration() -> None:
    config = AdmissionConfig(memory_requests="ignore")
    after = admitted(pod(), config)
    assert requested(after) is None
    assert after["spec"]["containers"][0]["resources"] == {"claims": [{"name": "modelfit"}]}
    assert after["metadata"]["annotations"]["llmfit.ai/resources"] == '{"gpu.memory":"8Gi","memory":"12Gi"}'
    assert not [warning for warning in mutate(target(requests={"memory": "1Gi"}), config).warnings if "less" in warning]


@pytest.mark.parametrize(
    ("amount", "is_below"),
    [("11Gi", True), ("12287Mi", True), ("12Gi", False), ("12288Mi", False), ("12884901888", False),
     ("12884901887", True), ("12G", True), ("13G", False), ("0", True), ("1e999999Gi", False), ("many", False),
     (12884901887, True), ("-1", True)],
)  # fmt: skip
def test_a_request_below_the_requirement_is_warned_about(amount: object, is_below: bool) -> None:
    for kind in ("requests", "limits"):
        for before, path in (
            (target(**{kind: {"memory": amount}}), f"spec.containers[0].resources.{kind}.memory"),
            (pod(resources={kind: {"memory": amount}}), f"spec.resources.{kind}.memory"),
        ):
            warning = f"{path} is less than the 12Gi that the model needs; it is kept"
            assert (warning in mutate(before).warnings) is is_below


def test_offloaded_experts_are_requested_as_system_memory() -> None:
    text = fit(memory_required_gb=2.46, moe_offloaded_gb=41.42, run_mode="MoE")
    assert requested(admitted(pod(text))) == "42415Mi"
    low = pod(text, containers=[container(resources={"requests": {"memory": "16Gi"}})])
    assert any("less than the 42415Mi" in warning for warning in mutate(low).warnings)


def test_a_cpu_only_model_gets_a_memory_request_by_the_same_rules() -> None:
    modes: tuple[Literal["fill", "ignore"], ...] = ("fill", "ignore")
    text = fit(vram_gb=0, ram_gb=4)
    for mode, given in itertools.product(modes, (None, "2Gi")):
        before = pod(text, containers=[container(resources={"requests": {"memory": given}})])
        decision = mutate(before, AdmissionConfig(memory_requests=mode))
        after = admitted(before, AdmissionConfig(memory_requests=mode))
        assert requested(after) == ("4Gi" if (mode, given) == ("fill", None) else given)
        assert any("it is kept" in warning for warning in decision.warnings) is (mode == "fill" and given is not None)
        assert "resourceClaims" not in after["spec"]
        assert "labels" not in after["metadata"]
