"""Reloads of the certificate files. tests/wire/test_certificates.py tests what peers are served."""

import base64
from datetime import timedelta
from pathlib import Path

import pytest

from certs import pem
from tests.certs.foreign_certificates import Shape
from tests.certs.key_kinds import ACCEPTED, make_case
from tests.wire.certificates import CertificateAuthority
from webhook.observe import admission_metrics
from webhook.server import der, serving_certificate
from webhook.server.serving_certificate import MAX_FILE_BYTES, ServingCertificate, UnusableKeyPair

CA = CertificateAuthority()


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    """The files of a valid pair."""
    paths = tmp_path / "tls.crt", tmp_path / "tls.key"
    write(paths, CA.issue("first"))
    return paths


def write(paths: tuple[Path, Path], pair: tuple[bytes, bytes]) -> None:
    for path, content in zip(paths, pair, strict=True):
        path.write_bytes(content)


def test_the_context_is_reused_while_the_content_of_the_files_is_unchanged(paths: tuple[Path, Path]) -> None:
    serving = ServingCertificate(*paths)
    first = serving.context()
    assert serving.context() is first
    for path in paths:
        path.touch()
    assert serving.context() is first


def test_a_write_that_changes_no_timestamp_is_noticed(
    paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = ServingCertificate(*paths)
    signature = serving._file_signature()
    monkeypatch.setattr(serving, "_file_signature", lambda: signature)
    first = serving.context()
    write(paths, CA.issue("second"))
    assert serving.context() is not first


def test_files_that_have_not_changed_recently_are_not_read(
    paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = ServingCertificate(*paths)
    monkeypatch.setattr(serving_certificate, "_SETTLE_SECONDS", -60.0)
    serving.context()
    monkeypatch.setattr(serving, "_read_files", lambda: pytest.fail("the files were read"))
    serving.context()


@pytest.mark.parametrize("fault", ["missing", "too large"])
def test_the_unusable_metric_is_1_exactly_while_the_files_are_unusable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The same files come back, with an unchanged signature, as when a folder is renamed."""
    monkeypatch.setattr(serving_certificate, "_SETTLE_SECONDS", -60.0)
    mount, other = tmp_path / "mount", tmp_path / "other"
    for folder in (mount, other):
        folder.mkdir()
    write((mount / "tls.crt", mount / "tls.key"), CA.issue("first"))
    if fault == "too large":
        write((other / "tls.crt", other / "tls.key"), (b"x" * (MAX_FILE_BYTES + 1), b""))
    serving = ServingCertificate(mount / "tls.crt", mount / "tls.key")
    serving.context()
    assert unusable_metric() == 0
    mount.rename(tmp_path / "aside")
    other.rename(mount)
    for _ in range(2):
        serving.context()
        assert unusable_metric() == 1
    mount.rename(other)
    (tmp_path / "aside").rename(mount)
    serving.context()
    assert unusable_metric() == 0


REFUSED = {
    **{
        f"{kind} as leaf": "the API server refuses the kind of key; want RSA from 2048 bits"
        for kind in ("P-224", "P-192", "secp256k1", "brainpoolP256r1", "Ed448", "DSA")
    },
    "RSA-1024 as leaf": "the key is too small; want RSA from 2048 bits",
    "signed with SHA-1": "the signature of a certificate in the chain uses a weak hash",
}


@pytest.mark.parametrize("case_id", [*REFUSED, *(f"{kind} as leaf" for kind in sorted(ACCEPTED))])
def test_a_pair_that_the_api_server_refuses_is_not_served_and_every_accepted_kind_is(
    paths: tuple[Path, Path], caplog: pytest.LogCaptureFixture, case_id: str
) -> None:
    serving = ServingCertificate(*paths)
    before = serving.context()
    leaf = make_case(case_id, Shape(names=["modelfit.default.svc"])).leaf
    write(paths, (pem.dump_certificates((leaf.certificate,)), leaf.key))
    with caplog.at_level("WARNING", logger="modelfit.tls"):
        for _ in range(2):
            assert (serving.context() is before) is (case_id in REFUSED)
    assert unusable_metric() == (case_id in REFUSED)
    causes = [record.__dict__["fields"]["cause"] for record in caplog.records]
    assert len(causes) == (case_id in REFUSED)
    assert all(REFUSED[case_id] in cause for cause in causes)


def unusable_metric() -> float:
    (line,) = admission_metrics.exposition(["modelfit_unusable_certificate"], multiprocess=False).splitlines()[-1:]
    return float(line.split()[-1])


@pytest.mark.parametrize("lifetime", [timedelta(days=1), timedelta(days=20 * 365), timedelta(days=40 * 365)])
def test_not_after_is_read_from_the_der(lifetime: timedelta) -> None:
    """Years before 2050 have two digits, later ones four."""
    certificate, _ = CA.issue("leaf", lifetime)
    assert der.not_after(certificate) == (CA.now + lifetime).replace(microsecond=0)
    assert der.not_after(b"a comment\n" + certificate + CA.certificate()) == der.not_after(certificate)


def test_a_truncated_certificate_is_a_value_error_at_every_length() -> None:
    certificate, _ = CA.issue("leaf")
    data = base64.b64decode(b"".join(certificate.splitlines()[1:-1]))
    for length in range(0, len(data), 3):
        truncated = (
            b"-----BEGIN CERTIFICATE-----\n" + base64.b64encode(data[:length]) + b"\n-----END CERTIFICATE-----\n"
        )
        with pytest.raises(ValueError, match=r"certificate|bytes"):
            der.not_after(truncated)


def test_a_file_above_the_maximum_size_is_rejected(paths: tuple[Path, Path]) -> None:
    paths[0].write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    with pytest.raises(UnusableKeyPair, match="larger than 1 MiB"):
        ServingCertificate(*paths)
