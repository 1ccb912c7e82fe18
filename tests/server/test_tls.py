"""The pair on disk and the context in memory. What peers see of it is tested over the wire."""

import base64
from datetime import timedelta
from pathlib import Path

import pytest

from tests.wire.certificates import Authority
from webhook.observe import admission_metrics
from webhook.server import der, serving_certificate

AUTHORITY = Authority()


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    """A pair in its files."""
    paths = tmp_path / "tls.crt", tmp_path / "tls.key"
    write(paths, AUTHORITY.issue("first"))
    return paths


def write(paths: tuple[Path, Path], pair: tuple[bytes, bytes]) -> None:
    for path, content in zip(paths, pair, strict=True):
        path.write_bytes(content)


def test_the_context_stays_the_same_while_the_files_do(paths: tuple[Path, Path]) -> None:
    serving = serving_certificate.ServingCertificate(*paths)
    first = serving.context()
    assert serving.context() is first
    for path in paths:
        path.touch()
    assert serving.context() is first


def test_a_write_in_the_same_tick_of_the_clock_is_noticed(
    paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = serving_certificate.ServingCertificate(*paths)
    signature = serving._sign()
    monkeypatch.setattr(serving, "_sign", lambda: signature)
    first = serving.context()
    write(paths, AUTHORITY.issue("second"))
    assert serving.context() is not first


def test_files_that_have_not_changed_for_a_while_are_not_read(
    paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = serving_certificate.ServingCertificate(*paths)
    monkeypatch.setattr(serving_certificate, "_SETTLED_SECONDS", -60.0)
    serving.context()
    monkeypatch.setattr(serving, "_read", lambda: pytest.fail("read again"))
    serving.context()


@pytest.mark.parametrize("fault", ["gone", "too large"])
def test_files_are_unusable_for_as_long_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Also if those that are back are the very same ones, as where a folder is swapped."""
    monkeypatch.setattr(serving_certificate, "_SETTLED_SECONDS", -60.0)
    mount, other = tmp_path / "mount", tmp_path / "other"
    for folder in (mount, other):
        folder.mkdir()
    write((mount / "tls.crt", mount / "tls.key"), AUTHORITY.issue("first"))
    if fault == "too large":
        write((other / "tls.crt", other / "tls.key"), (b"x" * (serving_certificate.MAX_FILE + 1), b""))
    serving = serving_certificate.ServingCertificate(mount / "tls.crt", mount / "tls.key")
    serving.context()
    assert unusable() == 0
    mount.rename(tmp_path / "aside")
    other.rename(mount)
    for _ in range(2):
        serving.context()
        assert unusable() == 1
    mount.rename(other)
    (tmp_path / "aside").rename(mount)
    serving.context()
    assert unusable() == 0


def unusable() -> float:
    (line,) = admission_metrics.exposition(["modelfit_unusable_certificate"], multiprocess=False).splitlines()[-1:]
    return float(line.split()[-1])


@pytest.mark.parametrize("lifetime", [timedelta(days=1), timedelta(days=20 * 365), timedelta(days=40 * 365)])
def test_the_end_of_a_certificate_is_read_from_its_der(lifetime: timedelta) -> None:
    """Before 2050 the time has two digits of the year, after that four."""
    certificate, _ = AUTHORITY.issue("leaf", lifetime)
    assert der.not_after(certificate) == (AUTHORITY.now + lifetime).replace(microsecond=0)
    assert der.not_after(b"a comment\n" + certificate + AUTHORITY.certificate()) == der.not_after(certificate)


def test_a_cut_certificate_is_a_value_error_at_every_length() -> None:
    certificate, _ = AUTHORITY.issue("leaf")
    data = base64.b64decode(b"".join(certificate.splitlines()[1:-1]))
    for length in range(0, len(data), 3):
        cut = b"-----BEGIN CERTIFICATE-----\n" + base64.b64encode(data[:length]) + b"\n-----END CERTIFICATE-----\n"
        with pytest.raises(ValueError, match=r"certificate|bytes"):
            der.not_after(cut)


def test_a_file_that_is_no_certificate_of_any_size_is_refused(paths: tuple[Path, Path]) -> None:
    paths[0].write_bytes(b"x" * (serving_certificate.MAX_FILE + 1))
    with pytest.raises(serving_certificate.UnusablePair, match="more than 1 MiB"):
        serving_certificate.ServingCertificate(*paths)
