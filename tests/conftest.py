"""What every test may use: golden files.

A golden file holds the whole of an output. `pytest --update-golden` writes what the code says now; the difference is
then read, line by line, in the commit.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"

Golden = Callable[[str, str], None]
"""`golden(path under tests/golden, text)`: fails where the file holds another text."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew instead of comparing")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """The comparison with a golden file."""
    update: bool = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        expected = path.read_text("utf-8") if path.exists() else None
        assert text == expected, f"{path} differs; if the new text is right, run pytest --update-golden"

    return compare
