"""JSON that means nothing, or two things: refused with its path, all faults at once, never anything but a Refusal."""

import json
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.kit import raw
from webhook.core.fits import model_fit
from webhook.core.fits.requirements import ModelRequirements
from webhook.errors import Denied
from webhook.reasons import Reason

WHERE = "metadata.annotations[llmfit.ai/model-fit]"
FIGURES = ("estimated_vram_gb", "min_vram_gb", "vram_gb", "estimated_memory_gb", "min_ram_gb", "ram_gb",
           "memory_required_gb", "total_memory_gb", "moe_offloaded_gb", "disk_size_gb", "memoryGi")  # fmt: skip


def refusal(text: str) -> Denied:
    with pytest.raises(Denied) as refused:
        model_fit.parse(text, WHERE)
    return refused.value


@pytest.mark.parametrize("key", FIGURES)
@pytest.mark.parametrize(
    ("value", "saw"),
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
def test_what_is_no_amount_is_refused_with_its_path(key: str, value: str, saw: str) -> None:
    refused = refusal(raw(x="1", **{key: value}))
    assert refused.reason == Reason.INVALID_MODEL_FIT
    assert [fault.field for fault in refused.faults] == [f"{WHERE}.{key}"]
    assert saw in str(refused)


def test_a_faulty_figure_is_refused_although_a_good_one_comes_first() -> None:
    assert "vram_gb" in str(refusal('{"estimated_vram_gb": 8, "vram_gb": "nine"}'))


@pytest.mark.parametrize(
    ("text", "where", "saw"),
    [
        ("", WHERE, "nothing; want one JSON object; paste llmfit's output; if it printed none, see its error message"),
        ("  \n", WHERE, "nothing"),
        ("{", WHERE, "line 1 column 2"),
        ("{'min_vram_gb': 8}", WHERE, "line 1 column 2"),
        ('{"min_vram_gb": 8,}', WHERE, "line 1 column"),
        ('{"min_vram_gb": 8} {}', WHERE, "extra data at line 1 column 20"),
        ('{"min_vram_gb": 8}x', WHERE, "extra data"),
        ('{"min_vram_gb": 08}', WHERE, "line 1 column"),
        ('{"min_vram_gb": +8}', WHERE, "line 1 column"),
        ('{"min_vram_gb": .5}', WHERE, "line 1 column"),
        ('{"min_vram_gb": 0x8}', WHERE, "line 1 column"),
        ('{"min_vram_gb": 8, "a": "\n"}', WHERE, "control character"),
        ('\ufeff{"min_vram_gb": 8}', WHERE, "line 1 column 1"),
        ("8Gi", WHERE, "extra data"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: str, where: str, saw: str) -> None:
    refused = refusal(text)
    assert refused.reason == Reason.INVALID_MODEL_FIT
    assert [fault.field for fault in refused.faults] == [where]
    assert saw in str(refused)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"min_vram_gb": 8, "min_vram_gb": 8}', f"{WHERE}.min_vram_gb"),
        ('{"min_vram_gb": 8, "x": 1, "x": 2}', f"{WHERE}.x"),
        ('{"min_vram_gb": 8, "model": {"a": 1, "a": 1}}', f"{WHERE}.model.a"),
        ('{"models": [{"min_vram_gb": 8, "a": 1, "a": 1}]}', f"{WHERE}.models[0].a"),
        ('{"min_vram_gb": 8, "l": [0, {"a b": 1, "a b": 1}]}', f'{WHERE}.l[1]["a b"]'),
    ],
)
def test_a_key_twice_is_refused_wherever_it_stands(text: str, where: str) -> None:
    refused = refusal(text)
    assert [(fault.field, fault.value) for fault in refused.faults] == [(where, "a duplicate key")]


@pytest.mark.parametrize("value", ["NaN", "[[1, -Infinity]]", '{"deep": {"er": 1e999}}'])
def test_an_impossible_number_is_refused_even_in_a_key_that_is_not_read(value: str) -> None:
    assert refusal(raw(min_vram_gb="8", notes=value)).reason == Reason.INVALID_MODEL_FIT


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
@pytest.mark.parametrize("depth", [16, 17, 500, 100_000])
def test_nesting_beyond_any_fit_is_refused(opening: str, depth: int) -> None:
    closing = {"[": "]", '{"a":': "}", '[{"a":': "}]"}[opening]
    refused = refusal('{"min_vram_gb": 8, "notes": ' + opening * depth + "1" + closing * depth + "}")
    assert "more than 16 levels of nesting; want at most 16; llmfit prints four" in str(refused)
    assert len(str(refused).encode()) <= 1024


def test_nesting_as_deep_as_fifteen_is_none_of_our_business() -> None:
    text = '{"min_vram_gb": 8, "notes": ' + "[" * 15 + "]" * 15 + "}"
    assert model_fit.parse(text, WHERE).gpu_memory == 8


def test_all_faults_come_in_one_message() -> None:
    text = """{"estimated_vram_gb": NaN, "min_vram_gb": -8, "vram_gb": "8", "ram_gb": true, "a": 1, "a": 2,
               "disk_size_gb": [], "run_mode": "GPU", "memory_required_gb": 0.001}"""
    refused = refusal(text)
    assert {fault.field.removeprefix(f"{WHERE}.") for fault in refused.faults} == {
        "estimated_vram_gb", "min_vram_gb", "vram_gb", "ram_gb", "a", "disk_size_gb", "memory_required_gb",
    }  # fmt: skip
    assert len(refused.faults) == 7
    for key in ("estimated_vram_gb", "min_vram_gb", "vram_gb", "ram_gb"):
        assert f"{WHERE}.{key}: " in str(refused)


def test_the_faults_of_a_plan_and_a_nested_model_come_with_their_paths() -> None:
    refused = refusal('{"minimum": {"vram_gb": -1, "ram_gb": "x"}, "model": {"min_vram_gb": true}}')
    assert {fault.field.removeprefix(f"{WHERE}.") for fault in refused.faults} == {
        "minimum.vram_gb", "minimum.ram_gb", "model.min_vram_gb",
    }  # fmt: skip


def test_an_ambiguous_fit_is_told_of_its_impossible_numbers_too() -> None:
    refused = refusal('{"models": [{"a": NaN}, {"a": 1}]}')
    assert [fault.field for fault in refused.faults] == [f"{WHERE}.models[0].a", f"{WHERE}.models"]


def test_a_long_value_is_cut_at_64_characters() -> None:
    message = str(refusal('{"min_vram_gb": "%s"}' % ("x" * 65)))
    assert f'"{"x" * 64}"...' in message
    assert "x" * 65 not in message
    assert f'"{"y" * 64}";' in str(refusal('{"min_vram_gb": "%s"}' % ("y" * 64)))


@pytest.mark.parametrize("hostile", ["\n", "\r", "\t", "\x1b[31m", "\u2028", "\x7f", "\x9b", "é", "🦙", '"', "\\"])
def test_a_value_in_a_message_is_escaped_to_ascii(hostile: str) -> None:
    for text in (json.dumps({"min_vram_gb": hostile}), json.dumps({f"k{hostile}": 1})):
        message = str(refusal(text))
        assert message.isascii()
        assert message.isprintable()


KEYS = st.sampled_from([*FIGURES, "run_mode", "model", "models", "minimum", "name", "supports_tp", "fit_level"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=80), inner, max_size=6),
    max_leaves=20,
)
FITS = st.dictionaries(
    KEYS, st.sampled_from(["GPU", "MoE", "CPU", "CPU+GPU", 0, 8, 1e-9, None]) | JSON, max_size=8
)  # fmt: skip


def assert_readable_or_refused(text: str) -> None:
    outcome = read_or_refusal(text)
    if isinstance(outcome, Denied):
        message = str(outcome)
        assert outcome.faults
        assert all(fault.field.startswith(WHERE) for fault in outcome.faults)
        assert len(message.encode()) <= 1024
        assert message.isascii()
    else:
        assert outcome.gpu_memory >= 0
        assert outcome.gpu_memory_quantity
        assert outcome.memory_quantity is None or outcome.memory_quantity[:1] != "0"
        assert outcome.model is None or outcome.model.encode()


def read_or_refusal(text: str, where: str = WHERE) -> ModelRequirements | Denied:
    try:
        return model_fit.parse(text, where)
    except Denied as refused:
        return refused


@given(st.text() | st.text(alphabet='{}[]":,0123456789.eE+-nulltrue \\"\n'))
@example("")
@example("\ud800")
@example('{"min_vram_gb": 8, "\\ud800": 1, "\\ud800": 2}')
def test_no_text_raises_anything_but_a_refusal(text: str) -> None:
    assert_readable_or_refused(text)


@given(FITS)
def test_no_fit_of_any_shape_raises_anything_but_a_refusal(document: object) -> None:
    assert_readable_or_refused(json.dumps(document))


@given(FITS, st.data())
def test_no_damaged_fit_raises_anything_but_a_refusal(document: object, data: st.DataObject) -> None:
    text = json.dumps(document)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert_readable_or_refused(text[:start] + data.draw(st.text(max_size=5)) + text[end:])


@given(st.dictionaries(KEYS | st.text(max_size=300), st.text(max_size=300), min_size=1, max_size=40))
def test_many_long_faults_still_fit_in_a_kilobyte(document: dict[str, str]) -> None:
    assert_readable_or_refused(json.dumps(document))


def test_a_long_fit_is_not_kept_in_memory() -> None:
    text = raw(min_vram_gb="8", notes=f'"{"x" * 100_000}"')
    before = sys.getrefcount(text)
    model_fit.parse(text, WHERE)
    after = sys.getrefcount(text)
    assert after == before


def test_a_fit_that_is_read_again_gives_the_same_answer() -> None:
    for text in (raw(min_vram_gb="8"), raw(min_vram_gb="-8")):
        first, second = (read_or_refusal(text) for _ in range(2))
        assert str(first) == str(second)
        assert (read_or_refusal(text, "elsewhere") == first) is not isinstance(first, Denied)
        assert str(read_or_refusal(raw(min_vram_gb="-8"), "elsewhere")).startswith("elsewhere.min_vram_gb")
