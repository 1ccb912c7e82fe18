"""Certificates as others make them, good and wrong in one way each: what the product's own mint never makes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs import pem
from certs.pairs import Pair

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
YEAR = timedelta(days=365)


@dataclass(frozen=True)
class Shape:
    """What to make; every field is one way to be different."""

    subject: str = "somebody"
    names: Sequence[str] = ()
    start: datetime = NOON - YEAR
    end: datetime = NOON + YEAR
    ca: bool | None = None
    signs_certificates: bool | None = None
    signs_handshakes: bool = True
    purposes: Sequence[x509.ObjectIdentifier] | None = None


AUTHORITY = Shape(subject="foreign authority", ca=True, signs_certificates=True)
CLIENT_ONLY = (ExtendedKeyUsageOID.CLIENT_AUTH,)


def make(shape: Shape, authority: Pair | None = None, key: ec.EllipticCurvePrivateKey | None = None) -> Pair:
    """A certificate of that shape, signed by `authority` or else by itself."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    issuer = _name(shape.subject) if authority is None else authority.certificate.subject
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(shape.subject))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(shape.start)
        .not_valid_after(shape.end)
    )
    if shape.names:
        hosts = [x509.DNSName(name) for name in shape.names]
        builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    if shape.ca is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca=shape.ca, path_length=None), critical=True)
    if shape.signs_certificates is not None:
        builder = builder.add_extension(_usage(shape), critical=True)
    if shape.purposes is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage(shape.purposes), critical=False)
    signer = key if authority is None else authority.signing_key()
    return Pair(builder.sign(signer, hashes.SHA256()), pem.key_text(key))


def _usage(shape: Shape) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=shape.signs_handshakes,
        key_cert_sign=bool(shape.signs_certificates),
        crl_sign=False,
        content_commitment=False,
        key_encipherment=True,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
