"""Members of the wrong type, unknown run modes, and errors that llmfit printed."""

import json
from decimal import Decimal

import pytest

from tests.core.builders import fit
from tests.core.fits import deny, parse
from webhook.core.fits.strict_json import describe
from webhook.errors import quote
from webhook.reasons import Reason


@pytest.mark.parametrize("mode", ["", "NPU", "x" * 1000])
def test_an_unknown_run_mode_without_memory_required_gb_is_ignored_with_a_warning(mode: str) -> None:
    requirements = parse(fit(vram_gb=8, run_mode=mode))
    (warning,) = requirements.warnings
    assert warning.startswith(f"run_mode {quote(mode)} is ignored")
    assert "GPU, TP, MoE, CPU+GPU or CPU" in warning


def test_a_known_run_mode_without_memory_required_gb_has_no_warning() -> None:
    assert parse(fit(vram_gb=8, run_mode="GPU")).warnings == ()


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
def test_a_known_key_with_a_value_of_another_type_is_denied(key: str, value: object) -> None:
    denied = deny(fit(vram_gb=8, **{key: value}))
    assert denied.reason == Reason.INVALID_MODEL_FIT
    (error,) = denied.errors
    assert (error.field, error.value) == (f"fit.{key}", describe(json.loads(json.dumps(value), parse_int=Decimal)))
    assert parse(fit(vram_gb=8, **{key: None})).warnings == ()


def test_the_name_of_the_nested_model_must_be_text() -> None:
    denied = deny(fit(vram_gb=8, model={"name": 5}))
    assert str(denied) == "fit.model.name: the number 5; want the model's name"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"minimum": 5}, "fit.minimum: the number 5; want an object"),
        ({"models": {"vram_gb": 8}}, "fit.models: an object; want a list of one object"),
        ({"models": "x"}, 'fit.models: the text "x"; want a list of one object'),
        ({"models": False}, "fit.models: false; want a list of one object"),
    ],
)
def test_models_or_minimum_of_another_type_is_denied_with_its_type(members: dict[str, object], message: str) -> None:
    denied = deny(fit(**members))
    assert str(denied) == message


@pytest.mark.parametrize("error", [{"kind": "model_not_found", "message": "No model found"}, "No model found"])
def test_an_error_that_llmfit_printed_is_in_the_message(error: object) -> None:
    denied = deny(fit(error=error))
    assert 'llmfit reported an error: "No model found"; want' in str(denied)


def test_a_long_error_that_llmfit_printed_is_truncated_and_escaped() -> None:
    denied = deny(fit(error={"message": "a\n\x1b" + "b" * 1000}))
    assert f'"a\\n\\u001b{"b" * 61}"...; want' in str(denied)


@pytest.mark.parametrize("error", [None, 5, {}, {"message": 5}])
def test_error_without_a_message_is_an_unknown_key(error: object) -> None:
    denied = deny(fit(error=error))
    assert 'among the keys "error"' in str(denied)


def test_a_field_beside_an_error_is_used() -> None:
    assert parse(fit(error="x", vram_gb=8)).gpu_memory == 8


def test_several_models_are_denied_with_their_names() -> None:
    rows = [{"model": {"name": name}, "memory_required_gb": 8, "run_mode": "CpuOnly"} for name in ("one", "two")]
    denied = deny(fit(models=rows))
    assert 'a list of 2: "one", "two"; want exactly one model' in str(denied)


@pytest.mark.parametrize("text", ['{"vram_gb":8}', ' [{"vram_gb":8}]'])
def test_json_that_is_encoded_twice_is_denied_with_a_hint(text: str) -> None:
    denied = deny(json.dumps(text))
    assert f"the text {json.dumps(text)}; want one JSON object" in str(denied)
    assert "remove the outer quotes: it is encoded twice" in str(denied)
