"""What every test may use: golden files, and the handling of the marker `cluster`.

A golden file holds the whole of an output. `pytest --update-golden` writes the present output; review the difference,
line by line, in the commit.

Tests marked `cluster` are skipped without the control plane's binaries, and fail if CI is set. The logs that a failed
one's processes wrote are copied to `.logs/<test>/`, and its report names the folder.
"""

import os
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from testbed import assets
from testbed.failure_logs import save_logs

GOLDEN = Path(__file__).parent / "golden"

Golden = Callable[[str, str], None]
"""`golden(path under tests/golden, text)`: fails if the file holds another text."""

_STARTED = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files instead of comparing")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares a text with a golden file."""
    update: bool = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        expected = path.read_text("utf-8") if path.exists() else None
        assert text == expected, f"{path} differs; if the new text is right, run pytest --update-golden"

    return compare


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_STARTED] = time.time()
    if item.get_closest_marker("cluster") is None:
        return
    try:
        assets.find()
    except assets.NoAssetsError as problem:
        if os.environ.get("CI"):
            pytest.fail(f"{problem} (with CI set, the cluster tests may not be skipped)", pytrace=False)
        pytest.skip(str(problem))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and item.get_closest_marker("cluster") is not None:
        folder = save_logs(item.name, item.stash[_STARTED])
        if folder is not None:
            report.sections.append(("logs of the processes", str(folder)))
    return report
