"""The files that `make generate` writes are committed as it writes them."""

from pathlib import Path

import pytest

from tools import generate


@pytest.mark.parametrize("path", generate.FILES, ids=lambda path: path.name)
def test_a_generated_file_is_current(path: Path) -> None:
    assert path.read_text("utf-8") == generate.FILES[path](), "run `make generate`"
