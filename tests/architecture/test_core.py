"""The core has no side doors: what needs no import to do I/O is not called there either."""

import ast
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, modules, tree

DOORS = {"open", "print", "input", "eval", "exec", "compile", "__import__", "breakpoint", "globals"}


def doors(module: ast.Module) -> set[str]:
    """The names among DOORS that the module mentions."""
    return {node.id for node in ast.walk(module) if isinstance(node, ast.Name)} & DOORS


@pytest.mark.parametrize("path", modules("webhook/core"), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_opens_prints_and_evaluates_nothing(path: Path) -> None:
    assert doors(tree(path)) == set()


def test_a_door_is_seen() -> None:
    assert doors(ast.parse("def f():\n    return [open('x') for _ in ()]")) == {"open"}


@pytest.mark.parametrize("package", ["webhook", "certs"])
def test_every_package_says_what_it_is_for(package: str) -> None:
    for path in modules(package):
        if path.name == "__init__.py":
            assert len((ast.get_docstring(tree(path)) or "").split()) >= 5, path
