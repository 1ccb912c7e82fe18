"""The precedence of keys: estimate, minimum, short name; memory and GPU memory independently."""

import itertools
from decimal import Decimal

import pytest

from tests.core.builders import amounts, fit, raw
from tests.core.fits import deny, parse
from webhook.reasons import Reason

MEMORY = {"estimated_memory_gb": 31, "min_ram_gb": 32, "ram_gb": 33}
GPU_MEMORY = {"estimated_vram_gb": 21, "min_vram_gb": 22, "vram_gb": 23}

ABSENT, NULL, PRESENT = "absent", "null", "present"
GRID = list(itertools.product((ABSENT, NULL, PRESENT), repeat=3))


def members(figures: dict[str, int], states: tuple[str, ...]) -> dict[str, object]:
    pairs = zip(figures.items(), states, strict=True)
    return {key: value if state == PRESENT else None for (key, value), state in pairs if state != ABSENT}


@pytest.mark.parametrize("states", GRID, ids="-".join)
def test_the_first_gpu_memory_key_present_is_used(states: tuple[str, ...]) -> None:
    text = fit(**members(GPU_MEMORY, states))
    expected = next((21 + index for index, state in enumerate(states) if state == PRESENT), None)
    if expected is None:
        denied = deny(text)
        assert denied.reason == Reason.NO_GPU_MEMORY_FIGURE
    else:
        assert parse(text).gpu_memory == expected


@pytest.mark.parametrize("states", GRID, ids="-".join)
def test_the_first_memory_key_present_is_used(states: tuple[str, ...]) -> None:
    requirements = parse(fit(vram_gb=8, **members(MEMORY, states)))
    assert requirements.memory == next((31 + index for index, state in enumerate(states) if state == PRESENT), None)
    assert requirements.gpu_memory == 8


@pytest.mark.parametrize("memory_states", GRID, ids="-".join)
@pytest.mark.parametrize("gpu_states", [states for states in GRID if PRESENT in states], ids="-".join)
def test_memory_and_gpu_memory_are_chosen_independently(
    gpu_states: tuple[str, ...], memory_states: tuple[str, ...]
) -> None:
    requirements = parse(fit(**members(GPU_MEMORY, gpu_states), **members(MEMORY, memory_states)))
    assert requirements.gpu_memory == 21 + gpu_states.index(PRESENT)
    assert requirements.memory == (31 + memory_states.index(PRESENT) if PRESENT in memory_states else None)


def test_zero_takes_precedence_over_a_later_key() -> None:
    requirements = parse(fit(estimated_vram_gb=0, min_vram_gb=8, estimated_memory_gb=0, min_ram_gb=12))
    assert requirements.gpu_memory == 0
    assert requirements.cpu_only
    assert requirements.memory == 0
    assert requirements.memory_quantity is None


@pytest.mark.parametrize("text", ["0", "-0", "0.0", "-0.0", "0e5", "0e-5"])
def test_every_spelling_of_zero_means_no_gpu(text: str) -> None:
    requirements = parse(raw(min_vram_gb=text, min_ram_gb="4"))
    assert requirements.cpu_only
    assert requirements.gpu_memory_quantity == "0Gi"
    assert requirements.memory_quantity == "4Gi"


def test_min_ram_gb_replaces_a_null_min_vram_gb_with_a_warning() -> None:
    requirements = parse('{"min_vram_gb": null, "min_ram_gb": 8}')
    assert amounts(requirements) == (8, 8)
    assert requirements.warnings == ("min_vram_gb is null, so min_ram_gb 8 is used instead, as in llmfit",)


def test_min_ram_gb_does_not_replace_an_absent_min_vram_gb() -> None:
    denied = deny('{"min_ram_gb": 8}')
    assert denied.reason == Reason.NO_GPU_MEMORY_FIGURE


def test_min_ram_gb_does_not_replace_a_zero_min_vram_gb() -> None:
    requirements = parse('{"min_vram_gb": 0, "min_ram_gb": 8}')
    assert requirements.cpu_only
    assert requirements.warnings == ()


def test_any_gpu_memory_key_takes_precedence_over_a_null_min_vram_gb() -> None:
    for other in ("estimated_vram_gb", "vram_gb"):
        requirements = parse(fit(min_vram_gb=None, min_ram_gb=8, **{other: 5}))
        assert requirements.gpu_memory == 5
        assert requirements.warnings == ()


def test_no_other_memory_key_replaces_a_null_min_vram_gb() -> None:
    for other in ("estimated_memory_gb", "ram_gb"):
        denied = deny(fit(min_vram_gb=None, **{other: 5}))
        assert denied.reason == Reason.NO_GPU_MEMORY_FIGURE


@pytest.mark.parametrize(
    ("text", "gpu_memory", "memory"),
    [
        ('{"model": {"min_vram_gb": 8, "min_ram_gb": 12}}', 8, 12),
        ('{"model": {"vram_gb": 8}, "min_vram_gb": 9}', 9, None),
        ('{"model": {"min_vram_gb": 8}, "vram_gb": 9}', 8, None),
        ('{"model": {"min_vram_gb": 8}, "min_vram_gb": 9}', 9, None),
        ('{"model": {"min_vram_gb": 8}, "min_vram_gb": null}', 8, None),
        ('{"model": {"estimated_vram_gb": 7, "min_vram_gb": 8}, "min_vram_gb": 9, "min_ram_gb": 3}', 7, 3),
        ('{"model": {"min_vram_gb": null, "min_ram_gb": 8}}', 8, 8),
        ('{"model": {"min_vram_gb": null, "min_ram_gb": 8}, "min_vram_gb": null}', 8, 8),
        ('{"model": {"min_vram_gb": null}, "min_ram_gb": 8}', 8, 8),
    ],
)
def test_a_nested_model_is_read_together_with_its_fit(text: str, gpu_memory: int, memory: int | None) -> None:
    requirements = parse(text)
    assert amounts(requirements) == (gpu_memory, memory)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"model": "llama-7b", "name": "other"}', "llama-7b"),
        ('{"name": "Qwen/Qwen2.5-7B"}', "Qwen/Qwen2.5-7B"),
        ('{"model_name": "phi"}', "phi"),
        ('{"model": {"name": "nested"}}', "nested"),
        ('{"name": "top", "model": {"name": "nested"}}', "top"),
        ('{"model": "  "}', None),
        ('{"model": "a\\ud800b"}', "a?b"),
        ("{}", None),
    ],
)
def test_the_name_of_the_model_is_valid_unicode(text: str, name: str | None) -> None:
    requirements = parse(text.replace("{", '{"estimated_vram_gb": 1, ', 1).replace(", }", "}"))
    assert requirements.model == name
    assert requirements.model is None or requirements.model.encode()


def test_amounts_are_exact_decimals() -> None:
    requirements = parse('{"min_vram_gb": 5.1, "min_ram_gb": 0.30}')
    assert requirements.gpu_memory == Decimal("5.1")
    assert requirements.memory == Decimal("0.3")
