"""What a message may repeat of a user's value, and how long it may get."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.errors import MAX_MESSAGE, Denied, FieldError, InvalidSettings, MalformedCall, quote, quote_all, truncate
from webhook.reasons import Reason

ANY = st.text() | st.text("\ud800\udfff\x00\x1b\x7f\x9b\n\u2028é🦙a", max_size=2000)


@given(ANY)
def test_a_shown_value_is_printable_ascii_of_at_most_64_characters_of_it(text: str) -> None:
    seen = quote(text)
    assert seen.isascii()
    assert seen.isprintable()
    assert seen == quote(text[:64]) + ("..." if len(text) > 64 else "")


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("a", '"a"'), ('"', r'"\""'), ("\\", r'"\\"'), ("\n", r'"\n"'), ("\x1b[0m", r'"\u001b[0m"'),
        ("\x7f", r'"\u007f"'),
        ("\x9b", r'"\u009b"'), ("é", r'"\u00e9"'), ("\u2028", r'"\u2028"'), ("\ud800", r'"\ud800"'), (7, '"7"'),
    ],
)  # fmt: skip
def test_a_shown_value_is_escaped(value: object, seen: str) -> None:
    assert quote(value) == seen


@given(ANY)
def test_a_bounded_message_is_utf8_of_at_most_a_kilobyte(text: str) -> None:
    cut = truncate(text)
    assert len(cut.encode()) <= MAX_MESSAGE
    whole = text.encode("utf-8", "backslashreplace")
    assert cut == whole.decode() or (cut.endswith("...") and whole.decode().startswith(cut[:-3]))
    assert truncate(cut) == cut


def test_a_message_is_cut_only_where_it_must_be() -> None:
    assert truncate("x" * 1024) == "x" * 1024
    assert truncate("x" * 1025) == "x" * 1021 + "..."
    assert truncate("é" * 600) == "é" * 510 + "..."


def test_several_names_are_shown_up_to_a_limit() -> None:
    assert quote_all([]) == ""
    assert quote_all(["a", "b"]) == '"a", "b"'
    assert quote_all([f"{index}" for index in range(10)], 2) == '"0", "1" and 8 more'


def test_a_fault_reads_where_what_want_and_what_to_do() -> None:
    assert str(FieldError("spec.a", "x", "y", "do z")) == "spec.a: x; want y; do z"
    assert str(FieldError("spec.a", "x", "y")) == "spec.a: x; want y"


def test_faults_travel_together() -> None:
    first, second = FieldError("a", "x", "y"), FieldError("b", "x", "y")
    refusal = Denied(Reason.INVALID_MODEL_FIT, iter([first, second]))
    assert refusal.errors == (first, second)
    assert str(refusal) == "a: x; want y; and b: x; want y"
    assert str(InvalidSettings([first, second])) == "a: x; want y\nb: x; want y"


@pytest.mark.parametrize(
    "error", [Denied(Reason.DISABLED, [FieldError("w" * 5000, "", "")]), MalformedCall("m" * 5000)]
)
def test_no_answers_message_outgrows_a_kilobyte(error: Exception) -> None:
    assert len(str(error)) == MAX_MESSAGE
