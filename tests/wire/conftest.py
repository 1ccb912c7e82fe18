"""Fixtures of the tests marked `wire`."""

from pathlib import Path

import pytest

from tests.wire.certificates import CertificateAuthority, SecretMount
from tests.wire.server_process import Launcher


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Adds the mark `wire` to the tests of this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.wire)


@pytest.fixture(scope="session")
def ca() -> CertificateAuthority:
    return CertificateAuthority()


@pytest.fixture
def mount(tmp_path: Path, ca: CertificateAuthority) -> SecretMount:
    """The server's certificate; its common name is `first`."""
    folder = tmp_path / "tls"
    folder.mkdir()
    mount = SecretMount(folder)
    mount.update(ca.issue("first"))
    return mount


@pytest.fixture
def launcher(tmp_path: Path, ca: CertificateAuthority, mount: SecretMount) -> Launcher:
    """Starts servers with the mounted certificate."""
    ca_file = tmp_path / "ca.crt"
    ca_file.write_bytes(ca.certificate())
    return Launcher(mount.certificate, mount.key, ca_file, tmp_path)
