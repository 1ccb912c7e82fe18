"""The core does not call builtins that perform I/O or evaluate code, which no import contract covers."""

import ast
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, modules, tree

FORBIDDEN_BUILTINS = {"open", "print", "input", "eval", "exec", "compile", "__import__", "breakpoint", "globals"}


def forbidden_names(module: ast.Module) -> set[str]:
    """The FORBIDDEN_BUILTINS that the module refers to."""
    return {node.id for node in ast.walk(module) if isinstance(node, ast.Name)} & FORBIDDEN_BUILTINS


@pytest.mark.parametrize("path", modules("webhook/core"), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_calls_no_builtin_that_performs_io(path: Path) -> None:
    assert forbidden_names(tree(path)) == set()


def test_a_forbidden_builtin_is_found() -> None:
    assert forbidden_names(ast.parse("def f():\n    return [open('x') for _ in ()]")) == {"open"}


@pytest.mark.parametrize("package", ["webhook", "certs"])
def test_every_package_has_a_docstring(package: str) -> None:
    for path in modules(package):
        if path.name == "__init__.py":
            assert len((ast.get_docstring(tree(path)) or "").split()) >= 5, path
