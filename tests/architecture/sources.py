"""The source files of the product and their syntax trees."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def modules(package: str) -> list[Path]:
    """The Python files of a package, sorted."""
    found = sorted((ROOT / package).rglob("*.py"))
    assert found, package
    return found


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def literals(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of every string literal, including parts of f-strings, without docstrings."""
    docstrings = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value
