"""One JSON line an event, whatever the values hold."""

import json
import logging
import sys
from collections.abc import Iterator

import pytest

from webhook.observe import logs


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Iterator[logging.Logger]:
    """A logger whose lines go to (the captured) standard error, as the program's do."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    logs.configure("info")
    yield logging.getLogger("modelfit.test")
    root.handlers[:] = before
    root.setLevel(level)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


WAYS = ["say", "info"]


def emit(way: str, log: logging.Logger, message: str, fields: dict[str, object]) -> None:
    """The two ways to an event."""
    if way == "say":
        logs.info(log, message, fields)
    else:
        log.info(message, extra={"fields": fields})


def test_both_ways_write_the_same_line(log: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    for way in WAYS:
        emit(way, log, "review", {"uid": "u", "allowed": True, "claim": None, "duration_ms": 0.5})
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


@pytest.mark.parametrize("way", WAYS)
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
def test_no_value_forges_a_line_or_colours_a_terminal(
    way: str, value: str, log: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(way, log, "review", {"name": value})
    text = capsys.readouterr().err
    assert text.isascii()
    assert text[:-1].isprintable()
    assert text.endswith("}\n")
    assert json.loads(text)["name"] == value


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("character", ["x", '"', "é", "😀"])
def test_a_line_is_never_longer_than_8_kib(
    way: str, character: str, log: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(way, log, character * 300_000, {f"field{index}": character * 300_000 for index in range(10)})
    (line,) = capsys.readouterr().err.splitlines()
    assert len(line) <= logs.MAX_LINE
    assert json.loads(line)["field9"].startswith(character)


def test_an_exception_is_logged_with_its_place_and_without_its_text(
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


def test_what_is_no_json_is_shown_as_text(log: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    log.info("event", extra={"fields": {"list": [1, "x" * 5000], "huge": 1 << 80}})
    (line,) = lines(capsys)
    assert str(line["list"]).startswith("[1, 'x")
    assert len(str(line["list"])) <= logs.MAX_TEXT
    assert line["huge"] == 1 << 80


def test_what_is_less_severe_than_the_level_is_not_logged(
    log: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    log.debug("too much")
    log.warning("enough")
    assert [line["msg"] for line in lines(capsys)] == ["enough"]


def test_a_log_that_nobody_reads_any_more_fails_no_review(log: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Broken())
    logs.info(log, "review", {})
