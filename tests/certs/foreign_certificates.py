"""Certificates that `certs.issuing` never makes: foreign ones, each wrong in one way or another."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs import pem
from certs.pem import KeyPair

Key = (
    ec.EllipticCurvePrivateKey
    | rsa.RSAPrivateKey
    | ed25519.Ed25519PrivateKey
    | ed448.Ed448PrivateKey
    | dsa.DSAPrivateKey
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
YEAR = timedelta(days=365)


@dataclass(frozen=True)
class Shape:
    """The contents of a certificate. None omits the extension."""

    subject: str = "foreign"
    names: Sequence[str] = ()
    start: datetime = NOON - YEAR
    end: datetime = NOON + YEAR
    ca: bool | None = None
    path_length: int | None = None
    signs_certificates: bool | None = None
    signs_handshakes: bool = True
    purposes: Sequence[x509.ObjectIdentifier] | None = None
    critical: x509.ExtensionType | None = None
    """A further critical extension."""


CA = Shape(subject="foreign CA", ca=True, signs_certificates=True)
CLIENT_ONLY = (ExtendedKeyUsageOID.CLIENT_AUTH,)


def make(
    shape: Shape, ca: KeyPair | None = None, key: Key | None = None, public_key: rsa.RSAPublicKey | None = None
) -> KeyPair:
    """A certificate of that shape, signed by `ca`, or self-signed; with `public_key` for one whose key is unknown."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    signer = key if ca is None else load_pem_private_key(ca.key, None)
    assert isinstance(signer, Key)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(shape.subject))
        .issuer_name(_name(shape.subject) if ca is None else ca.certificate.subject)
        .public_key(public_key or key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(shape.start)
        .not_valid_after(shape.end)
    )
    extensions: list[tuple[x509.ExtensionType, bool]] = []
    if shape.names:
        extensions.append((x509.SubjectAlternativeName([x509.DNSName(name) for name in shape.names]), False))
    if shape.ca is not None:
        extensions.append((x509.BasicConstraints(ca=shape.ca, path_length=shape.path_length), True))
    if shape.signs_certificates is not None:
        extensions.append((_usage(shape), True))
    if shape.purposes is not None:
        extensions.append((x509.ExtendedKeyUsage(shape.purposes), False))
    if shape.critical is not None:
        extensions.append((shape.critical, True))
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    digest = None if isinstance(signer, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey) else hashes.SHA256()
    return KeyPair(builder.sign(signer, digest), pem.dump_private_key(key))


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
