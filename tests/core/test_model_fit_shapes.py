"""Every shape of llmfit's output."""

import json
from pathlib import Path

import pytest

from tests.core.builders import amounts, fit
from tests.core.fits import deny, parse
from webhook.reasons import Reason

SAMPLES = Path(__file__).parents[1] / "golden" / "llmfit"

# file → gpu.memory, memory, model
EXPECTED = {
    "catalog-row-dense.json": ("3994Mi", "4404Mi", "Qwen/Qwen2.5-7B-Instruct"),
    "catalog-row-moe.json": ("24474Mi", "26727Mi", "mistralai/Mixtral-8x7B-Instruct-v0.1"),
    "claim-qwen2.5-7b.json": ("5Gi", None, "Qwen/Qwen2.5-7B"),
    "fit-row-gpu.json": ("10271Mi", None, "PreDoctor/DeepSeek-R1-0528-Qwen3-8B-NVFP4-W4A16-PreTensor"),
    "fit-row-moe-offload.json": ("2520Mi", "42415Mi", "Qwen/Qwen3-Coder-Next"),
    "fit-row-cpu-only.json": ("0Gi", "14326Mi", "OsaurusAI/Bonsai-2-27B-Ternary-JANG"),
    "info-qwen2.5-7b.json": ("0Gi", "9145Mi", "Qwen/Qwen2.5-7B-Instruct"),
    "plan-qwen2.5-7b.json": ("5484Mi", "8Gi", "Qwen/Qwen2.5-7B-Instruct"),
    "recommend-envelope-one-model.json": (
        "10271Mi",
        None,
        "PreDoctor/DeepSeek-R1-0528-Qwen3-8B-NVFP4-W4A16-PreTensor",
    ),
}
REFUSED = {"fit-row-cpu-offload.json", "fit-envelope-two-models.json"}


def sample(name: str) -> str:
    return (SAMPLES / name).read_text("utf-8")


def test_every_sample_has_an_expectation() -> None:
    assert {path.name for path in SAMPLES.glob("*.json")} == EXPECTED.keys() | REFUSED


@pytest.mark.parametrize("name", EXPECTED)
def test_llmfit_output_is_parsed(name: str) -> None:
    requirements = parse(sample(name))
    assert (requirements.gpu_memory_quantity, requirements.memory_quantity, requirements.model) == EXPECTED[name]
    assert requirements.warnings == ()


def test_a_cpu_offload_row_is_denied_with_both_alternatives() -> None:
    denied = deny(sample("fit-row-cpu-offload.json"))
    assert denied.reason == Reason.NO_GPU_MEMORY_FIGURE
    assert 'run_mode "CPU+GPU"' in str(denied)
    assert "estimated_vram_gb" in str(denied)
    assert "llmfit --json plan" in str(denied)


def test_an_envelope_with_two_models_is_denied_with_their_names() -> None:
    denied = deny(sample("fit-envelope-two-models.json"))
    assert denied.reason == Reason.AMBIGUOUS_MODEL_FIT
    assert '"PreDoctor/DeepSeek-R1-0528-Qwen3-8B-NVFP4-W4A16-PreTensor"' in str(denied)
    assert "Alexzander85/Qwen3.5-9B-Claude-4.6-Opus-Reasoning-Distilled-NVF" in str(denied)


def test_the_bandwidth_of_llmfit_claim_is_parsed() -> None:
    assert parse(sample("claim-qwen2.5-7b.json")).min_bandwidth == 161


def test_supports_tp_and_context_of_a_fit_row_are_parsed() -> None:
    requirements = parse(sample("fit-row-gpu.json"))
    assert requirements.tensor_parallel == (1, 2, 4, 8)
    assert requirements.context == 8192


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("memory_available_gb", 999),
        ("gpu_count", 8),
        ("gpu_vram_gb", 80),
        ("utilization_pct", 99),
        ("system", {"gpu_vram_gb": 24, "min_vram_gb": 24, "memory_required_gb": 24}),
        ("gpus", [{"vram_gb": 24}]),
        ("recommended_ram_gb", 99),
        ("a_key_of_next_year", {"vram_gb": "many"}),
    ],
)
def test_machine_details_and_unknown_keys_are_ignored(key: str, value: object) -> None:
    row = json.loads(sample("fit-row-gpu.json"))
    plain = parse(json.dumps(row))
    assert parse(json.dumps(row | {key: value})) == plain


GPU = {"GPU", "gpu", "Gpu"}
TENSOR_PARALLEL = {"TP", "tp", "tensor_parallel", "TensorParallel", "Tensor Parallel"}
MOE = {"MoE", "moe", "moe_offload", "MoeOffload", "MoE Offload"}
OFFLOAD = {"CPU+GPU", "cpu_offload", "CpuOffload", "CPU Offload", "CPU + GPU"}
CPU = {"CPU", "cpu", "Cpu", "cpu_only", "CpuOnly", "CPU-only"}


@pytest.mark.parametrize("mode", sorted(GPU | TENSOR_PARALLEL))
def test_a_gpu_run_needs_gpu_memory_only(mode: str) -> None:
    requirements = parse(fit(memory_required_gb=10.5, run_mode=mode))
    assert (requirements.gpu_memory_quantity, requirements.memory_quantity) == ("10752Mi", None)


@pytest.mark.parametrize("mode", sorted(MOE))
def test_an_moe_run_needs_system_memory_for_the_offloaded_experts(mode: str) -> None:
    requirements = parse(fit(memory_required_gb=10, moe_offloaded_gb=40, run_mode=mode))
    assert amounts(requirements) == (10, 40)
    assert requirements.warnings == ()


@pytest.mark.parametrize("mode", sorted(CPU))
def test_a_cpu_run_needs_system_memory_only(mode: str) -> None:
    requirements = parse(fit(memory_required_gb=10, run_mode=mode))
    assert amounts(requirements) == (0, 10)
    assert requirements.cpu_only


@pytest.mark.parametrize("mode", sorted(OFFLOAD))
def test_a_cpu_offload_row_needs_an_explicit_gpu_memory_field(mode: str) -> None:
    denied = deny(fit(memory_required_gb=38, run_mode=mode))
    assert denied.reason == Reason.NO_GPU_MEMORY_FIGURE
    assert f'run_mode "{mode}", whose row does not say' in str(denied)
    for key in ("estimated_vram_gb", "min_vram_gb"):
        requirements = parse(fit(memory_required_gb=38, run_mode=mode, **{key: 20}))
        assert amounts(requirements) == (20, 38)


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("", '""'),
        ("  ", '"  "'),
        ("turbo", '"turbo"'),
        ("gpux", '"gpux"'),
        (5, "the number 5"),
        (True, "true"),
        (["GPU"], "a list"),
        ({"mode": "GPU"}, "an object"),
    ],
)
def test_an_unknown_run_mode_is_denied_with_the_known_ones(mode: object, message: str) -> None:
    denied = deny(fit(memory_required_gb=10, run_mode=mode))
    assert denied.reason == Reason.INVALID_MODEL_FIT
    assert str(denied) == f"fit.run_mode: {message}; want GPU, TP, MoE, CPU+GPU or CPU"


@pytest.mark.parametrize("mode", ["GPU", "TP", "MoE"])
def test_a_gpu_run_with_memory_required_gb_0_is_denied(mode: str) -> None:
    denied = deny(fit(memory_required_gb=0, moe_offloaded_gb=3, run_mode=mode))
    assert denied.reason == Reason.INVALID_MODEL_FIT
    assert str(denied).startswith(f'fit.memory_required_gb: 0 with run_mode "{mode}"')


def test_explicit_fields_take_precedence_over_the_minimum_of_a_plan() -> None:
    plan = {"minimum": {"vram_gb": 5, "ram_gb": 8}, "recommended": {"vram_gb": 7, "ram_gb": 12}}
    requirements = parse(fit(**plan))
    assert amounts(requirements) == (5, 8)
    requirements = parse(fit(**plan, vram_gb=6))
    assert amounts(requirements) == (6, 8)


def test_a_plan_without_gpu_memory_is_denied() -> None:
    denied = deny(fit(minimum={"vram_gb": None, "ram_gb": 8}))
    assert denied.reason == Reason.NO_GPU_MEMORY_FIGURE


@pytest.mark.parametrize("rows", [[], [{"name": "a"}, {"name": "b"}], [7], ["a"], [[]]])
def test_an_envelope_without_exactly_one_model_is_denied(rows: list[object]) -> None:
    denied = deny(fit(models=rows))
    assert denied.reason == Reason.AMBIGUOUS_MODEL_FIT
    assert f"a list of {len(rows)}" in str(denied)
    assert str(denied).startswith("fit.models: ")


def test_an_envelope_with_one_model_is_unwrapped() -> None:
    row = {"name": "one", "min_vram_gb": 8}
    assert parse(fit(models=[row])) == parse(fit(**row))


@pytest.mark.parametrize("text", ["[]", '[{"min_vram_gb": 8}]', '[{"name": "a"}, {"name": "b"}]'])
def test_a_list_is_denied_even_with_one_model(text: str) -> None:
    denied = deny(text)
    assert denied.reason == Reason.AMBIGUOUS_MODEL_FIT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("7", "the number 7"),
        ("null", "null"),
        ("true", "true"),
        ('"llama"', 'the text "llama"'),
        ('""', 'the text ""'),
        ("8.5", "the number 8.5"),
        ("7" * 100, f"the number {'7' * 64}..."),
    ],
)
def test_a_value_that_is_not_an_object_is_denied(text: str, message: str) -> None:
    denied = deny(text)
    assert denied.reason == Reason.INVALID_MODEL_FIT
    assert str(denied).startswith(f"fit: {message}; want one JSON object")
    assert "quotes" not in str(denied)


def test_a_fit_without_gpu_memory_is_denied_with_its_keys_and_a_hint() -> None:
    denied = deny('{"license": "mit", "min_ram_gb": 8}')
    message = str(denied)
    assert '"license", "min_ram_gb"' in message
    assert "estimated_vram_gb, min_vram_gb or vram_gb" in message
    assert "llmfit --json plan" in message
