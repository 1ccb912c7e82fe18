"""Contradictory fields, which are used as docs/fits.md describes with a warning; bounds of amounts; hints."""

import pytest

from tests.core.builders import amounts, fit, raw
from tests.core.fits import deny, parse
from webhook.errors import Denied


def test_a_gpu_run_uses_total_memory_gb_if_it_is_larger() -> None:
    requirements = parse(fit(is_moe=True, memory_required_gb=22, total_memory_gb=390, run_mode="GPU"))
    assert requirements.gpu_memory == 390
    assert len(requirements.warnings) == 1
    assert "total_memory_gb 390 was used, not memory_required_gb 22" in requirements.warnings[0]


def test_an_moe_run_does_not_use_total_memory_gb() -> None:
    text = fit(is_moe=True, memory_required_gb=22, moe_offloaded_gb=368, total_memory_gb=390, run_mode="MoE")
    requirements = parse(text)
    assert amounts(requirements) == (22, 368)
    assert requirements.warnings == ()


def test_a_gpu_run_ignores_total_memory_gb_if_it_is_not_larger() -> None:
    for total in (10, 9, 0, None):
        requirements = parse(fit(memory_required_gb=10, total_memory_gb=total, run_mode="GPU"))
        assert requirements.gpu_memory == 10
        assert requirements.warnings == ()


def test_moe_offloaded_gb_can_be_absent_null_or_zero() -> None:
    row = {"memory_required_gb": 2, "run_mode": "MoE"}
    absent = parse(fit(**row))
    null = parse(fit(**row, moe_offloaded_gb=None))
    zero = parse(fit(**row, moe_offloaded_gb=0))
    assert absent.memory is None
    assert absent.warnings[0].startswith("moe_offloaded_gb is absent")
    assert null.memory is None
    assert null.warnings[0].startswith("moe_offloaded_gb is null")
    assert zero.memory == 0
    assert zero.memory_quantity is None
    assert zero.warnings == ()


def test_an_explicit_field_below_memory_required_gb_is_used_with_a_warning() -> None:
    requirements = parse(fit(estimated_vram_gb=8, memory_required_gb=10, run_mode="GPU"))
    assert requirements.gpu_memory == 8
    assert requirements.warnings == ("estimated_vram_gb 8 was used although the fit's memory_required_gb is 10",)


@pytest.mark.parametrize("amount", [15, 25])
def test_no_warning_says_that_total_memory_gb_was_used_beside_an_explicit_field(amount: int) -> None:
    requirements = parse(fit(vram_gb=amount, memory_required_gb=10, total_memory_gb=20, run_mode="GPU"))
    assert requirements.gpu_memory == amount
    below = ("vram_gb 15 was used although the fit's total_memory_gb is 20",)
    assert requirements.warnings == (below if amount < 20 else ())


def test_no_warning_says_that_no_system_memory_is_requested_beside_an_explicit_field() -> None:
    requirements = parse(fit(ram_gb=8, memory_required_gb=10, run_mode="MoE"))
    assert amounts(requirements) == (10, 8)
    assert requirements.warnings == ()


def test_an_explicit_field_above_memory_required_gb_is_used_without_a_warning() -> None:
    assert parse(fit(estimated_vram_gb=12, memory_required_gb=10, run_mode="GPU")).warnings == ()


def test_a_gpu_run_with_less_memory_than_disk_size_gb_has_a_warning() -> None:
    requirements = parse(fit(memory_required_gb=7, disk_size_gb=25, run_mode="GPU"))
    assert requirements.gpu_memory == 7
    assert requirements.warnings == ("the GPU memory 7 GB is less than the weights on disk, disk_size_gb 25",)


def test_an_moe_run_with_less_memory_than_disk_size_gb_has_no_warning() -> None:
    row = {"memory_required_gb": 7, "disk_size_gb": 25, "moe_offloaded_gb": 20}
    assert parse(fit(**row, run_mode="MoE")).warnings == ()


def test_a_cpu_run_with_an_explicit_gpu_field_claims_a_gpu_with_a_warning() -> None:
    requirements = parse(fit(memory_required_gb=7, run_mode="CPU", min_vram_gb=6))
    assert amounts(requirements) == (6, 7)
    assert requirements.warnings == (
        'run_mode "CPU" uses no GPU, but the fit names 6 GB of GPU memory; a GPU is claimed',
    )


@pytest.mark.parametrize("level", ["TooTight", "too_tight", "Too Tight"])
def test_fit_level_too_tight_has_a_warning(level: str) -> None:
    requirements = parse(fit(memory_required_gb=7, run_mode="GPU", fit_level=level))
    assert requirements.gpu_memory == 7
    assert [warning.partition(":")[0] for warning in requirements.warnings] == ["fit_level is too tight"]


@pytest.mark.parametrize("level", ["Perfect", "Good", "Marginal", None, 3])
def test_other_fit_levels_have_no_warning(level: object) -> None:
    assert parse(fit(memory_required_gb=7, run_mode="GPU", fit_level=level)).warnings == ()


@pytest.mark.parametrize("key", ["estimated_vram_gb", "min_vram_gb", "vram_gb", "memoryGi"])
@pytest.mark.parametrize("amount", ["0.0625", "1048576", "0.06250", "6.25e-2"])
def test_amounts_from_64_mib_to_1_pib_are_accepted(key: str, amount: str) -> None:
    assert not parse(raw(**{key: amount})).cpu_only


@pytest.mark.parametrize("key", ["estimated_vram_gb", "min_vram_gb", "vram_gb", "memoryGi"])
@pytest.mark.parametrize(
    ("amount", "bound"),
    [("0.0624999", "less than 64 MiB"), ("1e-300", "less than 64 MiB"), ("1e-999999999", "less than 64 MiB"),
     ("1048576.01", "more than 1 PiB"), ("8e9", "more than 1 PiB")],
)  # fmt: skip
def test_amounts_below_64_mib_or_above_1_pib_are_denied(key: str, amount: str, bound: str) -> None:
    denied = deny(raw(**{key: amount}))
    assert str(denied).startswith(f"fit.{key}: ")
    assert bound in str(denied)
    assert "check the unit" in str(denied)


def test_system_memory_below_64_mib_is_denied() -> None:
    denied = deny(fit(min_vram_gb=8, min_ram_gb=0.001))
    assert str(denied).startswith("fit.min_ram_gb: ")


def test_a_huge_context_does_not_change_the_amounts() -> None:
    requirements = parse(fit(memory_required_gb=26, run_mode="GPU", effective_context_length=83886080))
    assert requirements.gpu_memory == 26
    assert requirements.context == 83886080
    requirements = parse('{"vram_gb": 8, "context": 1e300}')
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
def test_supports_tp_ignores_entries_that_are_not_positive_integers(value: object, counts: tuple[int, ...]) -> None:
    assert parse(fit(vram_gb=8, supports_tp=value)).tensor_parallel == counts
    assert parse(fit(vram_gb=8, model={"supports_tp": value})).tensor_parallel == counts


def test_min_bandwidth_is_rounded_up_to_an_integer() -> None:
    for given, asked in ((161, 161), (161.5, 162), (0.2, 1), (0, None), (None, None)):
        assert parse(fit(memoryGi=5, minBandwidthGBs=given)).min_bandwidth == asked


@pytest.mark.parametrize("given", [-3, "161", True, [161], 1e99])
def test_an_invalid_min_bandwidth_is_denied(given: object) -> None:
    with pytest.raises(Denied, match=r"^fit\.minBandwidthGBs: "):
        parse(fit(memoryGi=5, minBandwidthGBs=given))
