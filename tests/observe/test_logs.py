"""One JSON line for each event, whatever the values contain."""

import json
import logging
import sys
from collections.abc import Iterator

import pytest

from webhook.observe import logs


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Iterator[logging.Logger]:
    """A logger that writes to the captured standard error, configured as in production."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    logs.configure("info")
    yield logging.getLogger("modelfit.test")
    root.handlers[:] = before
    root.setLevel(level)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


FUNCTIONS = ["logs.info", "logger.info"]


def emit(function: str, log: logging.Logger, message: str, fields: dict[str, object]) -> None:
    """Logs an event through one of FUNCTIONS."""
    if function == "logs.info":
        logs.info(log, message, fields)
    else:
        log.info(message, extra={"fields": fields})


def test_both_functions_write_the_same_line(log: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    for function in FUNCTIONS:
        emit(function, log, "review", {"uid": "u", "allowed": True, "claim": None, "duration_ms": 0.5})
    first, second = lines(capsys)
    assert str(first.pop("ts")).endswith("+00:00")
    assert str(second.pop("ts")).endswith("+00:00")
    assert first == second
    assert first == {
        "level": "info",
        "logger": "modelfit.test",
        "msg": "review",
        "uid": "u",
        "allowed": True,
        "claim": None,
        "duration_ms": 0.5,
    }


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    "value",
    [
        'x\n{"level":"error"}',
        "\x1b[31mred\x1b[0m",
        "a\r\nb",
        "\x9b31m",
        "\u2028line\u2029separators\x85",
        "\x7f\x00\x07",
        "\u202eright to left",
        "\ud800\x7f",
    ],
    ids=ascii,
)
def test_no_value_forges_a_line_or_controls_a_terminal(
    function: str, value: str, log: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(function, log, "review", {"name": value})
    text = capsys.readouterr().err
    assert text.isascii()
    assert text[:-1].isprintable()
    assert text.endswith("}\n")
    assert json.loads(text)["name"] == value


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("character", ["x", '"', "é", "😀"])
def test_a_line_is_never_longer_than_8_kib(
    function: str, character: str, log: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(function, log, character * 300_000, {f"field{index}": character * 300_000 for index in range(10)})
    (line,) = capsys.readouterr().err.splitlines()
    assert len(line) <= logs.MAX_LINE
    assert json.loads(line)["field9"].startswith(character)


def test_an_exception_is_logged_with_its_stack_and_without_its_text(
    log: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        raise ValueError("a pod's secret")
    except ValueError:
        log.exception("could not decide", extra={"fields": {"uid": "u"}})
    (line,) = lines(capsys)
    assert (line["level"], line["error"], line["uid"]) == ("error", "ValueError", "u")
    assert "test_logs.py:" in str(line["stack"])
    assert "secret" not in json.dumps(line)


def test_values_that_json_lacks_are_logged_as_text(log: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    log.info("event", extra={"fields": {"list": [1, "x" * 5000], "huge": 1 << 80}})
    (line,) = lines(capsys)
    assert str(line["list"]).startswith("[1, 'x")
    assert len(str(line["list"])) <= logs.MAX_TEXT
    assert line["huge"] == 1 << 80


def test_events_below_the_level_are_not_logged(log: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    log.debug("below")
    log.warning("above")
    assert [line["msg"] for line in lines(capsys)] == ["above"]


def test_a_closed_standard_error_does_not_fail_a_review(log: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Broken())
    logs.info(log, "review", {})
