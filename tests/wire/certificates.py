"""Certificates for the server under test, and the files in which the kubelet would mount them."""

import os
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


@dataclass
class CertificateAuthority:
    """A CA that issues certificates for localhost."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def certificate(self) -> bytes:
        """The CA certificate."""
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = self._builder("ca", self.key.public_key(), timedelta(days=2))
        return (
            builder.add_extension(x509.BasicConstraints(True, 0), True)
            .add_extension(usage, True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), False)
            .sign(self.key, hashes.SHA256())
            .public_bytes(serialization.Encoding.PEM)
        )

    def issue(self, name: str, lifetime: timedelta = timedelta(days=1)) -> tuple[bytes, bytes]:
        """A new certificate with the common name `name`, and its key; both PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1")), x509.IPAddress(ip_address("::1"))]
        certificate = (
            self._builder(name, key.public_key(), lifetime)
            .add_extension(x509.SubjectAlternativeName(names), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), False)
            .sign(self.key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM), key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def _builder(self, name: str, key: ec.EllipticCurvePublicKey, lifetime: timedelta) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(_name("ca"))
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self.now - timedelta(minutes=5))
            .not_valid_after(self.now + lifetime)
        )


@dataclass
class SecretMount:
    """A TLS Secret mounted by the kubelet: symlinks through `..data`, which an update replaces atomically."""

    folder: Path
    generation: int = 0

    @property
    def certificate(self) -> Path:
        return self.folder / "tls.crt"

    @property
    def key(self) -> Path:
        return self.folder / "tls.key"

    def update(self, pair: tuple[bytes, bytes]) -> None:
        """Replaces both files at once."""
        self.generation += 1
        data = self.folder / f"..{self.generation}"
        data.mkdir()
        (data / "tls.crt").write_bytes(pair[0])
        (data / "tls.key").write_bytes(pair[1])
        link = self.folder / "..data_tmp"
        link.symlink_to(data.name)
        os.replace(link, self.folder / "..data")
        if self.generation == 1:
            self.certificate.symlink_to("..data/tls.crt")
            self.key.symlink_to("..data/tls.key")
        else:
            shutil.rmtree(self.folder / f"..{self.generation - 1}")
