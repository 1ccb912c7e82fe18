"""`write`: a text as the configuration file."""

from pathlib import Path

import pytest

from tests.settings.writing import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return Write(tmp_path / "config.yaml")
