"""The keys on Kubernetes objects are defined once, in webhook/constants.py."""

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, literals, modules, tree
from webhook import constants

KEYS = {value for name, value in vars(constants).items() if name.isupper() and "/" in str(value)}
OUR_KEY = re.compile(r"llmfit\.ai/[-\w]+")

# In a profile the domain is a driver name: llmfit's DRA driver publishes its attributes under it.
EXEMPT = {ROOT / "webhook" / "constants.py", ROOT / "webhook" / "core" / "profiles" / "builtin.py"}


def literal_keys(module: ast.Module) -> list[tuple[int, str]]:
    """Line and text of every literal that is a key or contains one of our domain."""
    return [(line, text) for line, text in literals(module) if text in KEYS or OUR_KEY.search(text)]


@pytest.mark.parametrize(
    "path", [path for path in modules("webhook") if path not in EXEMPT], ids=lambda path: str(path.relative_to(ROOT))
)
def test_modules_use_the_constants_instead_of_literal_keys(path: Path) -> None:
    assert literal_keys(tree(path)) == []


def test_literal_keys_are_found_outside_docstrings() -> None:
    source = '"""llmfit.ai/claim in prose."""\nx = "llmfit.ai/claim"\ny = f"set llmfit.ai/profile to {x}"\nz = "a/b"\n'
    assert literal_keys(ast.parse(source)) == [(2, "llmfit.ai/claim"), (3, "set llmfit.ai/profile to ")]
    assert [
        line
        for line, _ in literal_keys(ast.parse('"app.kubernetes.io/managed-by"\nx = "app.kubernetes.io/managed-by"'))
    ] == [2]


def test_the_annotations_and_labels_are_these() -> None:
    assert {key for key in KEYS if key.startswith("llmfit.ai/")} == {
        "llmfit.ai/model-fit", "llmfit.ai/containers", "llmfit.ai/profile", "llmfit.ai/device-count",
        "llmfit.ai/inject", "llmfit.ai/injected", "llmfit.ai/claim", "llmfit.ai/resources", "llmfit.ai/memory",
        "llmfit.ai/gpu-memory", "llmfit.ai/model", "llmfit.ai/injected-into",
    }  # fmt: skip
