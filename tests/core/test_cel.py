"""String literals denote exactly their text and cannot be escaped from; every lookup is guarded."""

import cel as engine
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.builders import Json
from tests.core.devices import GIB, device, evaluate
from webhook.core.profiles import cel

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=cel.MAX_LITERAL)
HOSTILE = ['"', "'", "\\", '\\"', "\n", "\r\n", "\t", "\0", "\x1b", "\u2028", '" || true || "', '"+"', "\\u0022",
           "${x}", "`", "//", "/*", "é", "🦙", "\\x22", "\u0085", "\ufeff"]  # fmt: skip


@given(TEXTS)
@example("".join(HOSTILE))
def test_a_literal_evaluates_to_its_text(text: str) -> None:
    assert engine.evaluate(cel.literal(text)) == text


@given(TEXTS, TEXTS)
def test_a_literal_does_not_change_what_follows_it(left: str, right: str) -> None:
    assert engine.evaluate(f"[{cel.literal(left)}, {cel.literal(right)}]") == [left, right]


@given(TEXTS)
def test_a_literal_is_one_line_without_control_characters(text: str) -> None:
    literal = cel.literal(text)
    assert len(literal.splitlines()) == 1
    assert not any(ord(character) < 0x20 or 0x7F <= ord(character) <= 0x9F for character in literal)


def test_a_text_longer_than_253_characters_raises_value_error() -> None:
    assert cel.literal("x" * 253) == '"' + "x" * 253 + '"'
    for length in (254, 300):
        with pytest.raises(ValueError, match=f"a text of {length} characters"):
            cel.literal("x" * length)


@pytest.mark.parametrize("half", ["\ud800", "a\udfffb"])
def test_half_of_a_surrogate_pair_raises_value_error(half: str) -> None:
    with pytest.raises(ValueError, match="surrogate"):
        cel.literal(half)


@pytest.mark.parametrize("text", HOSTILE)
def test_special_characters_in_names_do_not_change_a_selector(text: str) -> None:
    selector = cel.at_least(text, text, "8Gi")
    assert evaluate(selector, device(text, {}, {text: 8 * GIB})) is True
    assert evaluate(selector, device(text, {}, {text: 8 * GIB - 1})) is False
    assert evaluate(selector, device("other", {}, {"memory": 80 * GIB})) is False
    value = cel.attribute_in(text, text, (text, "b"))
    assert evaluate(value, device(text, {text: text}, {})) is True
    assert evaluate(value, device(text, {text: f"{text}x"}, {})) is False


CONDITIONS: dict[str, tuple[str, Json, dict[str, int]]] = {
    "at_least": (cel.at_least("d", "memory", "8Gi"), {}, {"memory": 8 * GIB}),
    "attribute_at_least": (cel.attribute_at_least("d", "a", 161), {"a": 161}, {}),
    "attribute_is_true": (cel.attribute_is_true("d", "a"), {"a": True}, {}),
    "attribute_in": (cel.attribute_in("d", "a", ("x", "y")), {"a": "y"}, {}),
    "attribute_is_not": (cel.attribute_is_not("d", "a", "x"), {"a": "y"}, {}),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_is_false_without_error_if_the_device_lacks_the_key(name: str) -> None:
    expression, attributes, capacity = CONDITIONS[name]
    assert evaluate(expression, device("d", attributes, capacity)) is True
    for other in (
        device("d", {}, {}),
        device("d", {"other": 1}, {"other": 1}),
        device("e", attributes, capacity),
        {"driver": "d", "attributes": {}, "capacity": {}},
    ):
        assert evaluate(expression, other) is False


@pytest.mark.parametrize(
    ("expression", "attributes"),
    [
        (cel.attribute_at_least("d", "a", 161), {"a": 160}),
        (cel.attribute_at_least("d", "a", 161), {"a": 0}),
        (cel.attribute_at_least("d", "a", 161), {"a": "999"}),
        (cel.attribute_at_least("d", "a", 161), {"a": True}),
        (cel.attribute_is_true("d", "a"), {"a": False}),
        (cel.attribute_in("d", "a", ("x", "y")), {"a": "z"}),
        (cel.attribute_is_not("d", "a", "x"), {"a": "x"}),
    ],
)
def test_a_condition_is_false_for_other_values(expression: str, attributes: Json) -> None:
    assert evaluate(expression, device("d", attributes, {})) is False
