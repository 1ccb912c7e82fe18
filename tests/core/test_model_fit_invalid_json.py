"""Invalid or ambiguous JSON is denied with its path and all its errors. No input raises anything but Denied."""

import json
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.builders import raw
from tests.core.fits import deny, parse
from webhook.core.fits import model_fit
from webhook.core.fits.requirements import ModelRequirements
from webhook.errors import Denied
from webhook.reasons import Reason

AMOUNT_KEYS = ("estimated_vram_gb", "min_vram_gb", "vram_gb", "estimated_memory_gb", "min_ram_gb", "ram_gb",
           "memory_required_gb", "total_memory_gb", "moe_offloaded_gb", "disk_size_gb", "memoryGi")  # fmt: skip


@pytest.mark.parametrize("key", AMOUNT_KEYS)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("NaN", "the number NaN;"),
        ("Infinity", "the number Infinity;"),
        ("-Infinity", "the number -Infinity;"),
        ("1e999", "the number 1e999;"),
        ("-1e999", "the number -1e999;"),
        ("1e99999999999999999999", "the number 1e99999999999999999999;"),
        ("9" * 101, "the number"),
        ("-1", '"-1", below zero'),
        ("-0.001", '"-0.001", below zero'),
        ('"8"', 'the text "8"; want a number of gigabytes such as 8 or 12.5; remove the quotes and the unit'),
        ('"8Gi"', 'the text "8Gi"'),
        ("true", "true; want"),
        ("false", "false; want"),
        ("[8]", "a list; want"),
        ('{"gb": 8}', "an object; want"),
    ],
)
def test_an_invalid_amount_is_denied_with_its_path(key: str, value: str, message: str) -> None:
    denied = deny(raw(x="1", **{key: value}))
    assert denied.reason == Reason.INVALID_MODEL_FIT
    assert [error.field for error in denied.errors] == [f"fit.{key}"]
    assert message in str(denied)


def test_an_invalid_amount_is_denied_even_if_a_valid_one_takes_precedence() -> None:
    assert "vram_gb" in str(deny('{"estimated_vram_gb": 8, "vram_gb": "nine"}'))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing; want one JSON object; paste llmfit's output; if it printed none, see its error message"),
        ("  \n", "nothing"),
        ("{", "line 1 column 2"),
        ("{'min_vram_gb': 8}", "line 1 column 2"),
        ('{"min_vram_gb": 8,}', "line 1 column"),
        ('{"min_vram_gb": 8} {}', "extra data at line 1 column 20"),
        ('{"min_vram_gb": 8}x', "extra data"),
        ('{"min_vram_gb": 08}', "line 1 column"),
        ('{"min_vram_gb": +8}', "line 1 column"),
        ('{"min_vram_gb": .5}', "line 1 column"),
        ('{"min_vram_gb": 0x8}', "line 1 column"),
        ('{"min_vram_gb": 8, "a": "\n"}', "control character"),
        ('\ufeff{"min_vram_gb": 8}', "line 1 column 1"),
        ("8Gi", "extra data"),
    ],
)
def test_text_that_is_not_json_is_denied_with_the_position_of_the_error(text: str, message: str) -> None:
    denied = deny(text)
    assert denied.reason == Reason.INVALID_MODEL_FIT
    assert [error.field for error in denied.errors] == ["fit"]
    assert message in str(denied)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"min_vram_gb": 8, "min_vram_gb": 8}', "fit.min_vram_gb"),
        ('{"min_vram_gb": 8, "x": 1, "x": 2}', "fit.x"),
        ('{"min_vram_gb": 8, "model": {"a": 1, "a": 1}}', "fit.model.a"),
        ('{"models": [{"min_vram_gb": 8, "a": 1, "a": 1}]}', "fit.models[0].a"),
        ('{"min_vram_gb": 8, "l": [0, {"a b": 1, "a b": 1}]}', 'fit.l[1]["a b"]'),
    ],
)
def test_a_duplicate_key_is_denied_at_any_depth(text: str, path: str) -> None:
    denied = deny(text)
    assert [(error.field, error.value) for error in denied.errors] == [(path, "a duplicate key")]


@pytest.mark.parametrize("value", ["NaN", "[[1, -Infinity]]", '{"deep": {"er": 1e999}}'])
def test_an_invalid_number_is_denied_even_in_an_unknown_key(value: str) -> None:
    assert deny(raw(min_vram_gb="8", notes=value)).reason == Reason.INVALID_MODEL_FIT


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
@pytest.mark.parametrize("depth", [16, 17, 500, 100_000])
def test_nesting_deeper_than_sixteen_levels_is_denied(opening: str, depth: int) -> None:
    closing = {"[": "]", '{"a":': "}", '[{"a":': "}]"}[opening]
    denied = deny('{"min_vram_gb": 8, "notes": ' + opening * depth + "1" + closing * depth + "}")
    assert "more than 16 levels of nesting; want at most 16; llmfit prints four" in str(denied)
    assert len(str(denied).encode()) <= 1024


def test_nesting_of_sixteen_levels_is_accepted() -> None:
    text = '{"min_vram_gb": 8, "notes": ' + "[" * 15 + "]" * 15 + "}"
    assert parse(text).gpu_memory == 8


def test_all_errors_are_in_one_message() -> None:
    text = """{"estimated_vram_gb": NaN, "min_vram_gb": -8, "vram_gb": "8", "ram_gb": true, "a": 1, "a": 2,
               "disk_size_gb": [], "run_mode": "GPU", "memory_required_gb": 0.001}"""
    denied = deny(text)
    assert {error.field.removeprefix("fit.") for error in denied.errors} == {
        "estimated_vram_gb", "min_vram_gb", "vram_gb", "ram_gb", "a", "disk_size_gb", "memory_required_gb",
    }  # fmt: skip
    assert len(denied.errors) == 7
    for key in ("estimated_vram_gb", "min_vram_gb", "vram_gb", "ram_gb"):
        assert f"fit.{key}: " in str(denied)


def test_errors_in_a_plan_and_a_nested_model_have_their_paths() -> None:
    denied = deny('{"minimum": {"vram_gb": -1, "ram_gb": "x"}, "model": {"min_vram_gb": true}}')
    assert {error.field.removeprefix("fit.") for error in denied.errors} == {
        "minimum.vram_gb", "minimum.ram_gb", "model.min_vram_gb",
    }  # fmt: skip


def test_an_ambiguous_fit_with_an_invalid_number_has_both_errors() -> None:
    denied = deny('{"models": [{"a": NaN}, {"a": 1}]}')
    assert [error.field for error in denied.errors] == ["fit.models[0].a", "fit.models"]


def test_a_long_value_is_truncated_to_64_characters() -> None:
    message = str(deny('{"min_vram_gb": "%s"}' % ("x" * 65)))
    assert f'"{"x" * 64}"...' in message
    assert "x" * 65 not in message
    assert f'"{"y" * 64}";' in str(deny('{"min_vram_gb": "%s"}' % ("y" * 64)))


@pytest.mark.parametrize("hostile", ["\n", "\r", "\t", "\x1b[31m", "\u2028", "\x7f", "\x9b", "é", "🦙", '"', "\\"])
def test_values_in_messages_are_escaped_to_printable_ascii(hostile: str) -> None:
    for text in (json.dumps({"min_vram_gb": hostile}), json.dumps({f"k{hostile}": 1})):
        message = str(deny(text))
        assert message.isascii()
        assert message.isprintable()


KEYS = st.sampled_from([*AMOUNT_KEYS, "run_mode", "model", "models", "minimum", "name", "supports_tp", "fit_level"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=80), inner, max_size=6),
    max_leaves=20,
)
FITS = st.dictionaries(
    KEYS, st.sampled_from(["GPU", "MoE", "CPU", "CPU+GPU", 0, 8, 1e-9, None]) | JSON, max_size=8
)  # fmt: skip


def parse_or_denial(text: str, path: str = "fit") -> ModelRequirements | Denied:
    try:
        return model_fit.parse(text, path)
    except Denied as denied:
        return denied


def assert_parsed_or_denied(text: str) -> None:
    result = parse_or_denial(text)
    if isinstance(result, Denied):
        message = str(result)
        assert result.errors
        assert all(error.field.startswith("fit") for error in result.errors)
        assert len(message.encode()) <= 1024
        assert message.isascii()
    else:
        assert result.gpu_memory >= 0
        assert result.gpu_memory_quantity
        assert result.memory_quantity is None or result.memory_quantity[:1] != "0"
        assert result.model is None or result.model.encode()


@given(st.text() | st.text(alphabet='{}[]":,0123456789.eE+-nulltrue \\"\n'))
@example("")
@example("\ud800")
@example('{"min_vram_gb": 8, "\\ud800": 1, "\\ud800": 2}')
def test_any_text_is_parsed_or_denied(text: str) -> None:
    assert_parsed_or_denied(text)


@given(FITS)
def test_a_fit_of_any_shape_is_parsed_or_denied(document: object) -> None:
    assert_parsed_or_denied(json.dumps(document))


@given(FITS, st.data())
def test_a_damaged_fit_is_parsed_or_denied(document: object, data: st.DataObject) -> None:
    text = json.dumps(document)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert_parsed_or_denied(text[:start] + data.draw(st.text(max_size=5)) + text[end:])


@given(st.dictionaries(KEYS | st.text(max_size=300), st.text(max_size=300), min_size=1, max_size=40))
def test_a_message_with_many_long_errors_has_at_most_1024_bytes(document: dict[str, str]) -> None:
    assert_parsed_or_denied(json.dumps(document))


def test_a_long_fit_is_not_cached() -> None:
    text = raw(min_vram_gb="8", notes=f'"{"x" * 100_000}"')
    before = sys.getrefcount(text)
    parse(text)
    after = sys.getrefcount(text)
    assert after == before


def test_a_cached_fit_gives_the_same_result_with_the_path_of_the_caller() -> None:
    for text in (raw(min_vram_gb="8"), raw(min_vram_gb="-8")):
        first, second = (parse_or_denial(text) for _ in range(2))
        assert str(first) == str(second)
        assert (parse_or_denial(text, "elsewhere") == first) is not isinstance(first, Denied)
        assert str(parse_or_denial(raw(min_vram_gb="-8"), "elsewhere")).startswith("elsewhere.min_vram_gb")
