"""Figures that contradict each other: used as the table in docs/fits.md says, and never in silence."""

import pytest

from tests.core.kit import amounts, fit, raw
from webhook.core.fits import model_fit
from webhook.errors import Denied


def test_on_a_gpu_run_the_total_is_needed_not_the_active_experts() -> None:
    requirements = model_fit.parse(fit(is_moe=True, memory_required_gb=22, total_memory_gb=390, run_mode="GPU"), "fit")
    assert requirements.gpu_memory == 390
    assert len(requirements.warnings) == 1
    assert "total_memory_gb 390 was used, not memory_required_gb 22" in requirements.warnings[0]


def test_with_experts_offloaded_the_total_is_not_asked_of_the_gpu() -> None:
    text = fit(is_moe=True, memory_required_gb=22, moe_offloaded_gb=368, total_memory_gb=390, run_mode="MoE")
    requirements = model_fit.parse(text, "fit")
    assert amounts(requirements) == (22, 368)
    assert requirements.warnings == ()


def test_a_total_that_is_not_larger_changes_nothing() -> None:
    for total in (10, 9, 0, None):
        requirements = model_fit.parse(fit(memory_required_gb=10, total_memory_gb=total, run_mode="GPU"), "fit")
        assert requirements.gpu_memory == 10
        assert requirements.warnings == ()


def test_offloaded_absent_null_and_zero_are_three_different_inputs() -> None:
    row = {"memory_required_gb": 2, "run_mode": "MoE"}
    absent = model_fit.parse(fit(**row), "fit")
    null = model_fit.parse(fit(**row, moe_offloaded_gb=None), "fit")
    zero = model_fit.parse(fit(**row, moe_offloaded_gb=0), "fit")
    assert absent.memory is None
    assert absent.warnings[0].startswith("moe_offloaded_gb is absent")
    assert null.memory is None
    assert null.warnings[0].startswith("moe_offloaded_gb is null")
    assert zero.memory == 0
    assert zero.memory_quantity is None
    assert zero.warnings == ()


def test_an_explicit_figure_below_the_runs_need_is_used_with_a_warning() -> None:
    requirements = model_fit.parse(fit(estimated_vram_gb=8, memory_required_gb=10, run_mode="GPU"), "fit")
    assert requirements.gpu_memory == 8
    assert requirements.warnings == ("estimated_vram_gb 8 was used although the fit's memory_required_gb is 10",)


def test_an_explicit_figure_above_the_runs_need_is_used_without_one() -> None:
    assert model_fit.parse(fit(estimated_vram_gb=12, memory_required_gb=10, run_mode="GPU"), "fit").warnings == ()


def test_less_than_the_weights_on_disk_draws_a_warning_on_a_gpu_run() -> None:
    requirements = model_fit.parse(fit(memory_required_gb=7, disk_size_gb=25, run_mode="GPU"), "fit")
    assert requirements.gpu_memory == 7
    assert requirements.warnings == ("the GPU memory 7 GB is less than the weights on disk, disk_size_gb 25",)


def test_less_than_the_weights_on_disk_is_usual_where_part_is_offloaded() -> None:
    row = {"memory_required_gb": 7, "disk_size_gb": 25, "moe_offloaded_gb": 20}
    assert model_fit.parse(fit(**row, run_mode="MoE"), "fit").warnings == ()


def test_a_cpu_run_with_a_gpu_figure_claims_a_gpu_and_says_so() -> None:
    requirements = model_fit.parse(fit(memory_required_gb=7, run_mode="CPU", min_vram_gb=6), "fit")
    assert amounts(requirements) == (6, 7)
    assert requirements.warnings == (
        'run_mode "CPU" uses no GPU, but the fit names 6 GB of GPU memory; a GPU is claimed',
    )


@pytest.mark.parametrize("level", ["TooTight", "too_tight", "Too Tight"])
def test_a_fit_that_is_too_tight_draws_a_warning(level: str) -> None:
    requirements = model_fit.parse(fit(memory_required_gb=7, run_mode="GPU", fit_level=level), "fit")
    assert requirements.gpu_memory == 7
    assert [warning.partition(":")[0] for warning in requirements.warnings] == ["fit_level is too tight"]


@pytest.mark.parametrize("level", ["Perfect", "Good", "Marginal", None, 3])
def test_other_levels_draw_none(level: object) -> None:
    assert model_fit.parse(fit(memory_required_gb=7, run_mode="GPU", fit_level=level), "fit").warnings == ()


@pytest.mark.parametrize("key", ["estimated_vram_gb", "min_vram_gb", "vram_gb", "memoryGi"])
@pytest.mark.parametrize("amount", ["0.0625", "1048576", "0.06250", "6.25e-2"])
def test_the_least_and_the_most_are_accepted(key: str, amount: str) -> None:
    assert not model_fit.parse(raw(**{key: amount}), "fit").cpu_only


@pytest.mark.parametrize("key", ["estimated_vram_gb", "min_vram_gb", "vram_gb", "memoryGi"])
@pytest.mark.parametrize(
    ("amount", "bound"),
    [("0.0624999", "less than 64 MiB"), ("1e-300", "less than 64 MiB"), ("1e-999999999", "less than 64 MiB"),
     ("1048576.01", "more than 1 PiB"), ("8e9", "more than 1 PiB")],
)  # fmt: skip
def test_a_unit_mistake_is_refused(key: str, amount: str, bound: str) -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(raw(**{key: amount}), "fit")
    assert str(refused.value).startswith(f"fit.{key}: ")
    assert bound in str(refused.value)
    assert "check the unit" in str(refused.value)


def test_system_memory_is_held_to_the_same_bounds() -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(fit(min_vram_gb=8, min_ram_gb=0.001), "fit")
    assert str(refused.value).startswith("fit.min_ram_gb: ")


def test_an_absurd_context_neither_overflows_nor_sizes_anything() -> None:
    requirements = model_fit.parse(fit(memory_required_gb=26, run_mode="GPU", effective_context_length=83886080), "fit")
    assert requirements.gpu_memory == 26
    assert requirements.context == 83886080
    requirements = model_fit.parse('{"vram_gb": 8, "context": 1e300}', "fit")
    assert requirements.gpu_memory == 8
    assert requirements.context is None


@pytest.mark.parametrize(
    ("value", "counts"),
    [
        ([1, 2, 4], (1, 2, 4)),
        ([4, 2, 2, 1], (1, 2, 4)),
        ([0, -1, 1.5, "2", True, None, 8], (8,)),
        ([], ()),
        (2, ()),
        ("auto", ()),
    ],
)
def test_supports_tp_is_a_hint_whose_odd_entries_are_passed_over(value: object, counts: tuple[int, ...]) -> None:
    assert model_fit.parse(fit(vram_gb=8, supports_tp=value), "fit").tensor_parallel == counts
    assert model_fit.parse(fit(vram_gb=8, model={"supports_tp": value}), "fit").tensor_parallel == counts


def test_a_bandwidth_that_is_not_whole_is_rounded_up() -> None:
    for given, asked in ((161, 161), (161.5, 162), (0.2, 1), (0, None), (None, None)):
        assert model_fit.parse(fit(memoryGi=5, minBandwidthGBs=given), "fit").min_bandwidth == asked


@pytest.mark.parametrize("given", [-3, "161", True, [161], 1e99])
def test_a_bandwidth_that_is_none_is_refused_not_dropped(given: object) -> None:
    with pytest.raises(Denied, match=r"^fit\.minBandwidthGBs: "):
        model_fit.parse(fit(memoryGi=5, minBandwidthGBs=given), "fit")
