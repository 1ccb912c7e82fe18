"""The lines of all programs are found under one name."""

import ast
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, modules, tree

FOREIGN = {"", "urllib3", "leaderelection", "kubernetes.informer.informer"}
"""Loggers that are set up or quietened, and not written to."""


def loggers(module: ast.Module) -> list[str]:
    """The names that a module calls `getLogger` with, as they stand there."""
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    return [
        ast.literal_eval(call.args[0])
        if call.args and isinstance(call.args[0], ast.Constant)
        else "".join(map(ast.unparse, call.args))
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "getLogger"
    ]


@pytest.mark.parametrize("path", modules("webhook"), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_logger_is_one_of_modelfits(path: Path) -> None:
    assert [name for name in loggers(tree(path)) if not name.startswith("modelfit.") and name not in FOREIGN] == []


def test_a_logger_is_seen_under_the_name_that_it_is_given() -> None:
    text = "a = logging.getLogger(__name__)\nb = logging.getLogger('modelfit.b')\nc = logging.getLogger()"
    assert loggers(ast.parse(text)) == ["__name__", "modelfit.b", ""]
