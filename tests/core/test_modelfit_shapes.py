"""Everything that llmfit prints, as it prints it."""

import json
from pathlib import Path

import pytest

from tests.core.kit import amounts, fit
from webhook.core.fits import model_fit
from webhook.errors import Denied
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
def test_llmfits_own_output_gives_its_figures(name: str) -> None:
    requirements = model_fit.parse(sample(name), "fit")
    assert (requirements.gpu_memory_quantity, requirements.memory_quantity, requirements.model) == EXPECTED[name]
    assert requirements.warnings == ()


def test_a_cpu_offload_row_is_refused_with_both_ways_out() -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(sample("fit-row-cpu-offload.json"), "fit")
    assert refused.value.reason == Reason.NO_GPU_MEMORY_FIGURE
    assert 'run_mode "CPU+GPU"' in str(refused.value)
    assert "estimated_vram_gb" in str(refused.value)
    assert "llmfit --json plan" in str(refused.value)


def test_an_envelope_with_two_models_is_refused_by_name() -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(sample("fit-envelope-two-models.json"), "fit")
    assert refused.value.reason == Reason.AMBIGUOUS_MODEL_FIT
    assert '"PreDoctor/DeepSeek-R1-0528-Qwen3-8B-NVFP4-W4A16-PreTensor"' in str(refused.value)
    assert "Alexzander85/Qwen3.5-9B-Claude-4.6-Opus-Reasoning-Distilled-NVF" in str(refused.value)


def test_the_claim_commands_bandwidth_is_kept() -> None:
    assert model_fit.parse(sample("claim-qwen2.5-7b.json"), "fit").min_bandwidth == 161


def test_a_fit_rows_splits_and_context_are_kept() -> None:
    requirements = model_fit.parse(sample("fit-row-gpu.json"), "fit")
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
def test_what_the_measuring_machine_had_and_unknown_keys_change_nothing(key: str, value: object) -> None:
    row = json.loads(sample("fit-row-gpu.json"))
    plain = model_fit.parse(json.dumps(row), "fit")
    assert model_fit.parse(json.dumps(row | {key: value}), "fit") == plain


GPU = {"GPU", "gpu", "Gpu"}
TENSOR_PARALLEL = {"TP", "tp", "tensor_parallel", "TensorParallel", "Tensor Parallel"}
MOE = {"MoE", "moe", "moe_offload", "MoeOffload", "MoE Offload"}
OFFLOAD = {"CPU+GPU", "cpu_offload", "CpuOffload", "CPU Offload", "CPU + GPU"}
CPU = {"CPU", "cpu", "Cpu", "cpu_only", "CpuOnly", "CPU-only"}


@pytest.mark.parametrize("mode", sorted(GPU | TENSOR_PARALLEL))
def test_a_run_on_gpus_needs_it_all_in_gpu_memory(mode: str) -> None:
    requirements = model_fit.parse(fit(memory_required_gb=10.5, run_mode=mode), "fit")
    assert (requirements.gpu_memory_quantity, requirements.memory_quantity) == ("10752Mi", None)


@pytest.mark.parametrize("mode", sorted(MOE))
def test_offloaded_experts_are_system_memory(mode: str) -> None:
    requirements = model_fit.parse(fit(memory_required_gb=10, moe_offloaded_gb=40, run_mode=mode), "fit")
    assert amounts(requirements) == (10, 40)
    assert requirements.warnings == ()


@pytest.mark.parametrize("mode", sorted(CPU))
def test_a_run_on_the_cpu_needs_no_gpu(mode: str) -> None:
    requirements = model_fit.parse(fit(memory_required_gb=10, run_mode=mode), "fit")
    assert amounts(requirements) == (0, 10)
    assert requirements.cpu_only


@pytest.mark.parametrize("mode", sorted(OFFLOAD))
def test_a_cpu_offload_row_needs_the_gpu_share_beside_it(mode: str) -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(fit(memory_required_gb=38, run_mode=mode), "fit")
    assert refused.value.reason == Reason.NO_GPU_MEMORY_FIGURE
    assert f'run_mode "{mode}", whose row does not say' in str(refused.value)
    for key in ("estimated_vram_gb", "min_vram_gb"):
        requirements = model_fit.parse(fit(memory_required_gb=38, run_mode=mode, **{key: 20}), "fit")
        assert amounts(requirements) == (20, 38)


@pytest.mark.parametrize(
    ("mode", "saw"),
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
def test_a_run_mode_that_is_not_known_is_refused_with_those_that_llmfit_prints(mode: object, saw: str) -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(fit(memory_required_gb=10, run_mode=mode), "fit")
    assert refused.value.reason == Reason.INVALID_MODEL_FIT
    assert str(refused.value) == f"fit.run_mode: {saw}; want GPU, TP, MoE, CPU+GPU or CPU"


@pytest.mark.parametrize("mode", ["GPU", "TP", "MoE"])
def test_a_run_on_a_gpu_that_needs_none_of_it_is_a_contradiction(mode: str) -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(fit(memory_required_gb=0, moe_offloaded_gb=3, run_mode=mode), "fit")
    assert refused.value.reason == Reason.INVALID_MODEL_FIT
    assert str(refused.value).startswith(f'fit.memory_required_gb: 0 with run_mode "{mode}"')


def test_a_plan_gives_its_minimum_and_explicit_figures_win_over_it() -> None:
    plan = {"minimum": {"vram_gb": 5, "ram_gb": 8}, "recommended": {"vram_gb": 7, "ram_gb": 12}}
    requirements = model_fit.parse(fit(**plan), "fit")
    assert amounts(requirements) == (5, 8)
    requirements = model_fit.parse(fit(**plan, vram_gb=6), "fit")
    assert amounts(requirements) == (6, 8)


def test_a_plan_without_gpu_memory_is_refused() -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(fit(minimum={"vram_gb": None, "ram_gb": 8}), "fit")
    assert refused.value.reason == Reason.NO_GPU_MEMORY_FIGURE


@pytest.mark.parametrize("rows", [[], [{"name": "a"}, {"name": "b"}], [7], ["a"], [[]]])
def test_an_envelope_without_exactly_one_model_is_refused(rows: list[object]) -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(fit(models=rows), "fit")
    assert refused.value.reason == Reason.AMBIGUOUS_MODEL_FIT
    assert f"a list of {len(rows)}" in str(refused.value)
    assert str(refused.value).startswith("fit.models: ")


def test_an_envelope_with_one_model_reads_as_the_model() -> None:
    row = {"name": "one", "min_vram_gb": 8}
    assert model_fit.parse(fit(models=[row]), "fit") == model_fit.parse(fit(**row), "fit")


@pytest.mark.parametrize("text", ["[]", '[{"min_vram_gb": 8}]', '[{"name": "a"}, {"name": "b"}]'])
def test_a_bare_list_is_refused_even_with_one_model(text: str) -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(text, "fit")
    assert refused.value.reason == Reason.AMBIGUOUS_MODEL_FIT


@pytest.mark.parametrize(
    ("text", "saw"),
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
def test_a_bare_value_is_refused_by_what_it_is(text: str, saw: str) -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(text, "fit")
    assert refused.value.reason == Reason.INVALID_MODEL_FIT
    assert str(refused.value).startswith(f"fit: {saw}; want one JSON object")
    assert "quotes" not in str(refused.value)


def test_no_figure_at_all_names_the_keys_there_are_and_the_ways_out() -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse('{"license": "mit", "min_ram_gb": 8}', "fit")
    message = str(refused.value)
    assert '"license", "min_ram_gb"' in message
    assert "estimated_vram_gb, min_vram_gb or vram_gb" in message
    assert "llmfit --json plan" in message
