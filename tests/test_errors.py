"""Quoted values, truncated messages, and the grammar of field errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.errors import MAX_MESSAGE, Denied, FieldError, InvalidSettings, MalformedCall, quote, quote_all, truncate
from webhook.reasons import Reason

TEXTS = st.text() | st.text("\ud800\udfff\x00\x1b\x7f\x9b\n\u2028é🦙a", max_size=2000)


@given(TEXTS)
def test_a_quoted_value_is_printable_ascii_of_at_most_64_characters(text: str) -> None:
    quoted = quote(text)
    assert quoted.isascii()
    assert quoted.isprintable()
    assert quoted == quote(text[:64]) + ("..." if len(text) > 64 else "")


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("a", '"a"'), ('"', r'"\""'), ("\\", r'"\\"'), ("\n", r'"\n"'), ("\x1b[0m", r'"\u001b[0m"'),
        ("\x7f", r'"\u007f"'),
        ("\x9b", r'"\u009b"'), ("é", r'"\u00e9"'), ("\u2028", r'"\u2028"'), ("\ud800", r'"\ud800"'), (7, '"7"'),
    ],
)  # fmt: skip
def test_a_quoted_value_is_escaped(value: object, quoted: str) -> None:
    assert quote(value) == quoted


@given(TEXTS)
def test_a_truncated_message_is_utf8_of_at_most_a_kilobyte(text: str) -> None:
    truncated = truncate(text)
    assert len(truncated.encode()) <= MAX_MESSAGE
    whole = text.encode("utf-8", "backslashreplace").decode()
    assert truncated == whole or (truncated.endswith("...") and whole.startswith(truncated[:-3]))
    assert truncate(truncated) == truncated


def test_a_message_is_truncated_only_above_the_limit() -> None:
    assert truncate("x" * 1024) == "x" * 1024
    assert truncate("x" * 1025) == "x" * 1021 + "..."
    assert truncate("é" * 600) == "é" * 510 + "..."


def test_several_values_are_quoted_up_to_a_limit() -> None:
    assert quote_all([]) == ""
    assert quote_all(["a", "b"]) == '"a", "b"'
    assert quote_all([f"{index}" for index in range(10)], 2) == '"0", "1" and 8 more'


def test_a_field_error_reads_field_value_expected_hint() -> None:
    assert str(FieldError("spec.a", "x", "y", "do z")) == "spec.a: x; want y; do z"
    assert str(FieldError("spec.a", "x", "y")) == "spec.a: x; want y"


def test_an_exception_reports_all_its_errors() -> None:
    first, second = FieldError("a", "x", "y"), FieldError("b", "x", "y")
    denied = Denied(Reason.INVALID_MODEL_FIT, iter([first, second]))
    assert denied.errors == (first, second)
    assert str(denied) == "a: x; want y; and b: x; want y"
    assert str(InvalidSettings([first, second])) == "a: x; want y\nb: x; want y"


@pytest.mark.parametrize(
    "error", [Denied(Reason.DISABLED, [FieldError("w" * 5000, "", "")]), MalformedCall("m" * 5000)]
)
def test_the_message_of_a_response_has_at_most_a_kilobyte(error: Exception) -> None:
    assert len(str(error)) == MAX_MESSAGE
