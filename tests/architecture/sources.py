"""The product's source files, and what stands in them."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def modules(package: str) -> list[Path]:
    """The Python files of a package, in order."""
    found = sorted((ROOT / package).rglob("*.py"))
    assert found, package
    return found


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def literals(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of every string literal, parts of f-strings too, but no docstrings."""
    prose = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value
