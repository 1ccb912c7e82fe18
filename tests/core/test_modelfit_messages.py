"""What is not a fit, or one of another shape: refused or doubted in the words of whoever wrote it."""

import json
from decimal import Decimal

import pytest

from tests.core.kit import fit
from webhook.core.fits import model_fit
from webhook.core.fits.strict_json import describe
from webhook.errors import Denied, quote
from webhook.reasons import Reason


@pytest.mark.parametrize("mode", ["", "NPU", "x" * 1000])
def test_an_unknown_run_mode_that_shares_nothing_out_draws_a_warning(mode: str) -> None:
    requirements = model_fit.parse(fit(vram_gb=8, run_mode=mode), "fit")
    (warning,) = requirements.warnings
    assert warning.startswith(f"run_mode {quote(mode)} is ignored")
    assert "GPU, TP, MoE, CPU+GPU or CPU" in warning


def test_a_known_run_mode_that_shares_nothing_out_draws_none() -> None:
    assert model_fit.parse(fit(vram_gb=8, run_mode="GPU"), "fit").warnings == ()


MISPLACED = [5, True, ["x"]]
SHAPES = {
    "run_mode": (*MISPLACED, {}),
    "minimum": (*MISPLACED, "x"),
    "model": MISPLACED,
    "name": (*MISPLACED, {}),
    "model_name": (*MISPLACED, {}),
}
"""Members with a meaning, and values that they cannot have."""


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in SHAPES.items() for value in values])
def test_what_has_a_meaning_and_another_shape_is_refused(key: str, value: object) -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(fit(vram_gb=8, **{key: value}), "fit")
    assert refused.value.reason == Reason.INVALID_MODEL_FIT
    (fault,) = refused.value.faults
    assert (fault.field, fault.value) == (f"fit.{key}", describe(json.loads(json.dumps(value), parse_int=Decimal)))
    assert model_fit.parse(fit(vram_gb=8, **{key: None}), "fit").warnings == ()


def test_the_nested_models_name_must_be_a_text_too() -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(fit(vram_gb=8, model={"name": 5}), "fit")
    assert str(refused.value) == "fit.model.name: the number 5; want the model's name"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"minimum": 5}, "fit.minimum: the number 5; want an object"),
        ({"models": {"vram_gb": 8}}, "fit.models: an object; want a list of one object"),
        ({"models": "x"}, 'fit.models: the text "x"; want a list of one object'),
        ({"models": False}, "fit.models: false; want a list of one object"),
    ],
)
def test_an_envelope_or_a_plan_of_another_shape_says_what_it_is(members: dict[str, object], message: str) -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(fit(**members), "fit")
    assert str(refused.value) == message


@pytest.mark.parametrize("error", [{"kind": "model_not_found", "message": "No model found"}, "No model found"])
def test_an_error_of_llmfit_is_told_as_such(error: object) -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(fit(error=error), "fit")
    assert 'llmfit reported an error: "No model found"; want' in str(refused.value)


def test_a_long_error_of_llmfit_is_cut_and_escaped() -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(fit(error={"message": "a\n\x1b" + "b" * 1000}), "fit")
    assert f'"a\\n\\u001b{"b" * 61}"...; want' in str(refused.value)


@pytest.mark.parametrize("error", [None, 5, {}, {"message": 5}])
def test_what_is_no_error_of_llmfits_is_a_key_like_any(error: object) -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(fit(error=error), "fit")
    assert 'among the keys "error"' in str(refused.value)


def test_a_figure_beside_an_error_is_used() -> None:
    assert model_fit.parse(fit(error="x", vram_gb=8), "fit").gpu_memory == 8


def test_the_models_of_a_comparison_are_named() -> None:
    rows = [{"model": {"name": name}, "memory_required_gb": 8, "run_mode": "CpuOnly"} for name in ("one", "two")]
    with pytest.raises(Denied) as refused:
        model_fit.parse(fit(models=rows), "fit")
    assert 'a list of 2: "one", "two"; want exactly one model' in str(refused.value)


@pytest.mark.parametrize("text", ['{"vram_gb":8}', ' [{"vram_gb":8}]'])
def test_json_that_is_encoded_twice_is_told_as_such(text: str) -> None:
    with pytest.raises(Denied) as refused:
        model_fit.parse(json.dumps(text), "fit")
    assert f"the text {json.dumps(text)}; want one JSON object" in str(refused.value)
    assert "remove the outer quotes: it is encoded twice" in str(refused.value)
