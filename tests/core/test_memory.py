"""System memory: a request where nobody set anything, never a change to what somebody set."""

import itertools
from typing import Literal

import pytest

from tests.core.builders import Json, admitted, container, fit, mutate, pod
from webhook.core.admission_config import AdmissionConfig


def target(**resources: object) -> Json:
    return pod(containers=[container(resources=resources)])


def requested(after: Json) -> object:
    """The first container's memory request."""
    (first, *_) = after["spec"]["containers"]
    return (first.get("resources", {}).get("requests") or {}).get("memory")


@pytest.mark.parametrize("kind", ["requests", "limits"])
@pytest.mark.parametrize("amount", ["0", "1Gi", "12Gi", "64Gi", "1e999999Gi", "many"])
def test_what_the_container_says_is_kept(kind: str, amount: str) -> None:
    before = target(**{kind: {"memory": amount, "cpu": "1"}})
    after = admitted(before)
    assert after["spec"]["containers"][0]["resources"][kind] == {"memory": amount, "cpu": "1"}
    assert requested(after) == (amount if kind == "requests" else None)


@pytest.mark.parametrize("kind", ["requests", "limits"])
def test_what_the_pod_says_is_kept(kind: str) -> None:
    before = pod(resources={kind: {"memory": "64Gi"}})
    after = admitted(before)
    assert requested(after) is None
    assert after["spec"]["resources"] == {kind: {"memory": "64Gi"}}


@pytest.mark.parametrize(
    "level", [{}, None, {"requests": {"cpu": "1"}}, {"limits": None}, {"requests": {"memory": None}}]
)
def test_pod_level_resources_without_memory_leave_it_open(level: object) -> None:
    assert requested(admitted(pod(resources=level))) == "12Gi"


def test_another_containers_memory_is_its_own() -> None:
    before = pod(containers=[container("server"), container("web", resources={"requests": {"memory": "1Gi"}})])
    after = admitted(before)
    assert requested(after) == "12Gi"
    assert after["spec"]["containers"][1] == before["spec"]["containers"][1]


def test_only_the_first_target_gets_the_request() -> None:
    before = pod(
        containers=[container("a"), container("b"), container("c")], annotations={"llmfit.ai/containers": "c,b"}
    )
    after = admitted(before)["spec"]["containers"]
    assert "resources" not in after[0]
    assert after[1]["resources"] == {"claims": [{"name": "modelfit"}]}
    assert after[2]["resources"] == {"claims": [{"name": "modelfit"}], "requests": {"memory": "12Gi"}}


def test_a_null_amount_is_none() -> None:
    assert requested(admitted(target(requests={"memory": None}))) == "12Gi"


@pytest.mark.parametrize("text", [fit(vram_gb=8), fit(vram_gb=8, ram_gb=0), fit(vram_gb=8, ram_gb=None)])
def test_without_a_memory_figure_nothing_is_requested(text: str) -> None:
    after = admitted(pod(text))
    assert requested(after) is None
    assert after["metadata"]["annotations"]["llmfit.ai/resources"] == '{"gpu.memory":"8Gi"}'


def test_the_operator_can_turn_it_off() -> None:
    config = AdmissionConfig(memory_requests="ignore")
    after = admitted(pod(), config)
    assert requested(after) is None
    assert after["spec"]["containers"][0]["resources"] == {"claims": [{"name": "modelfit"}]}
    assert after["metadata"]["annotations"]["llmfit.ai/resources"] == '{"gpu.memory":"8Gi","memory":"12Gi"}'
    assert not [warning for warning in mutate(target(requests={"memory": "1Gi"}), config).warnings if "less" in warning]


@pytest.mark.parametrize(
    ("amount", "is_less"),
    [("11Gi", True), ("12287Mi", True), ("12Gi", False), ("12288Mi", False), ("12884901888", False),
     ("12884901887", True), ("12G", True), ("13G", False), ("0", True), ("1e999999Gi", False), ("many", False),
     (12884901887, True), ("-1", True)],
)  # fmt: skip
def test_a_lower_figure_draws_a_warning(amount: object, is_less: bool) -> None:
    for kind in ("requests", "limits"):
        for before, path in (
            (target(**{kind: {"memory": amount}}), f"spec.containers[0].resources.{kind}.memory"),
            (pod(resources={kind: {"memory": amount}}), f"spec.resources.{kind}.memory"),
        ):
            warning = f"{path} is less than the 12Gi that the model needs; it is kept"
            assert (warning in mutate(before).warnings) is is_less


def test_offloaded_experts_need_their_share_of_system_memory() -> None:
    text = fit(memory_required_gb=2.46, moe_offloaded_gb=41.42, run_mode="MoE")
    assert requested(admitted(pod(text))) == "42415Mi"
    low = pod(text, containers=[container(resources={"requests": {"memory": "16Gi"}})])
    assert any("less than the 42415Mi" in warning for warning in mutate(low).warnings)


def test_a_cpu_only_model_is_held_to_the_same_rules() -> None:
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
