"""A certificate and a way to serve with it. Every test here carries the mark `wire`."""

from pathlib import Path

import pytest

from tests.wire.certificates import Authority, Mount
from tests.wire.process import Launcher


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks them."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.wire)


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def mount(tmp_path: Path, authority: Authority) -> Mount:
    """The mounted pair; its common name is `first`."""
    folder = tmp_path / "tls"
    folder.mkdir()
    mount = Mount(folder)
    mount.swap(authority.issue("first"))
    return mount


@pytest.fixture
def launcher(tmp_path: Path, authority: Authority, mount: Mount) -> Launcher:
    """Serves with the mounted pair."""
    trusted = tmp_path / "ca.crt"
    trusted.write_bytes(authority.certificate())
    return Launcher(mount.certificate, mount.key, trusted, tmp_path)
