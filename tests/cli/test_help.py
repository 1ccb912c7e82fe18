"""`--help`: complete, with examples, at most 80 columns wide."""

import re
import shlex

import pytest

from tests.cli.conftest import Run
from webhook.cli import COMMANDS

FIT = '{"model": "llama-7b", "min_vram_gb": 8}'


def test_the_help_lists_every_command(modelfit: Run) -> None:
    result = modelfit("--help")
    assert (result.code, result.err) == (0, "")
    for name, summary in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(summary)}$", result.out, re.MULTILINE)
    assert max(map(len, result.out.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example_and_fits_80_columns(command: str, modelfit: Run) -> None:
    result = modelfit(command, "--help")
    assert (result.code, result.err) == (0, "")
    assert re.search(rf"^examples?:\n(  .*\n)*  .*modelfit {command}", result.out, re.MULTILINE)
    assert max(map(len, result.out.splitlines())) <= 80


def test_every_option_has_a_help_text(modelfit: Run) -> None:
    for command in COMMANDS:
        text = modelfit(command, "--help").out
        for option in re.findall(r"^  (-.*)$", text, re.MULTILINE):
            line = text[text.index(f"  {option}") :]
            assert re.match(r"  -\S.*(  |\n {10,})\S", line), f"{command}: {option}"


@pytest.mark.parametrize("arguments", [[], ["conv"], ["--config"], ["convert", "--nope"]], ids=" ".join)
def test_a_usage_error_is_one_line_that_names_the_help(arguments: list[str], modelfit: Run) -> None:
    result = modelfit(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert "--help" in result.err


def test_the_examples_of_convert_run(modelfit: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.chdir(str(tmp_path))
    with open("fit.json", "w") as file:
        file.write(FIT)
    examples = re.findall(r"^  (?:.*\| )?modelfit (.*)$", modelfit("convert", "--help").out, re.MULTILINE)
    assert len(examples) == 3
    for example in examples:
        assert modelfit(*shlex.split(example), stdin=FIT).code == 0
