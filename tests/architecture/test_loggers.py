"""All loggers have names below `modelfit`."""

import ast
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, modules, tree

FOREIGN = {"", "urllib3", "leaderelection", "kubernetes.informer.informer"}
"""Loggers of other packages, which are configured only."""


def loggers(module: ast.Module) -> list[str]:
    """The arguments of the module's calls of `getLogger`; expressions as source text."""
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    return [
        ast.literal_eval(call.args[0])
        if call.args and isinstance(call.args[0], ast.Constant)
        else "".join(map(ast.unparse, call.args))
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "getLogger"
    ]


@pytest.mark.parametrize("path", modules("webhook"), ids=lambda path: str(path.relative_to(ROOT)))
def test_loggers_are_named_below_modelfit(path: Path) -> None:
    assert [name for name in loggers(tree(path)) if not name.startswith("modelfit.") and name not in FOREIGN] == []


def test_logger_names_are_found() -> None:
    text = "a = logging.getLogger(__name__)\nb = logging.getLogger('modelfit.b')\nc = logging.getLogger()"
    assert loggers(ast.parse(text)) == ["__name__", "modelfit.b", ""]
