"""Keys on Kubernetes objects are written down once, in webhook/vocabulary.py."""

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, literals, modules, tree
from webhook import constants

KEYS = {value for name, value in vars(constants).items() if name.isupper() and "/" in str(value)}
OURS = re.compile(r"llmfit\.ai/[-\w]+")

# In a profile the domain is the driver's own: llmfit's DRA driver publishes attributes under it.
EXEMPT = {ROOT / "webhook" / "vocabulary.py", ROOT / "webhook" / "core" / "profiles" / "builtin.py"}


def written_out(module: ast.Module) -> list[tuple[int, str]]:
    """Line and text of every literal that is a key, or says one of ours."""
    return [(line, text) for line, text in literals(module) if text in KEYS or OURS.search(text)]


@pytest.mark.parametrize(
    "path", [path for path in modules("webhook") if path not in EXEMPT], ids=lambda path: str(path.relative_to(ROOT))
)
def test_no_key_is_written_out_again(path: Path) -> None:
    assert written_out(tree(path)) == []


def test_a_key_is_seen_where_it_is_written_out() -> None:
    source = '"""llmfit.ai/claim in prose."""\nx = "llmfit.ai/claim"\ny = f"set llmfit.ai/profile to {x}"\nz = "a/b"\n'
    assert written_out(ast.parse(source)) == [(2, "llmfit.ai/claim"), (3, "set llmfit.ai/profile to ")]
    assert [
        line for line, _ in written_out(ast.parse('"app.kubernetes.io/managed-by"\nx = "app.kubernetes.io/managed-by"'))
    ] == [2]


def test_the_keys_are_those_of_the_design() -> None:
    assert {key for key in KEYS if key.startswith("llmfit.ai/")} == {
        "llmfit.ai/model-fit", "llmfit.ai/containers", "llmfit.ai/profile", "llmfit.ai/device-count",
        "llmfit.ai/inject", "llmfit.ai/injected", "llmfit.ai/claim", "llmfit.ai/resources", "llmfit.ai/memory",
        "llmfit.ai/gpu-memory", "llmfit.ai/model", "llmfit.ai/injected-into",
    }  # fmt: skip
