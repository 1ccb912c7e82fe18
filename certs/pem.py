"""Certificates and private keys from and to PEM.

Input may be damaged or foreign: it raises UnreadablePEM at most. A certificate counts as readable only if its subject,
public key and extensions are: `cryptography` parses those lazily and would raise later.
"""

import hashlib
import re
from dataclasses import dataclass, field
from typing import TypeAlias

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes

from certs.exceptions import UnreadablePEM

SigningKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey

_BEGIN, _END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
_CERTIFICATE = re.compile(_BEGIN + rb".*?" + _END, re.DOTALL)
_LIBRARY_ERRORS = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)
"""What `cryptography` raises for input that it cannot parse."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: bytes = field(repr=False)
    """Unencrypted PEM. Not in the repr, so that no log line and no traceback shows it."""

    chain: tuple[x509.Certificate, ...] = ()
    """Intermediates that a server sends too. Only foreign certificates have any."""


def load_certificates(data: bytes) -> tuple[tuple[x509.Certificate, ...], int]:
    """The certificates in `data`, in order, without duplicates, and the number of unreadable blocks."""
    blocks = _CERTIFICATE.findall(data)
    readable = [certificate for block in blocks if (certificate := _load_certificate(block)) is not None]
    return tuple(dict.fromkeys(readable)), max(data.count(_BEGIN), len(blocks)) - len(readable)


def load_private_key(data: bytes) -> SigningKey:
    """The private key of a server or a CA. Raises UnreadablePEM."""
    if not data.strip():
        raise UnreadablePEM("it is empty; want a private key in PEM")
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except TypeError:
        raise UnreadablePEM("it is encrypted; want a private key in PEM without a passphrase") from None
    except _LIBRARY_ERRORS:
        raise UnreadablePEM("it cannot be read; want a private key in PEM") from None
    if not isinstance(key, SigningKey):
        raise UnreadablePEM("it is of another type; want an EC, RSA or Ed25519 private key")
    return key


def load_key_pair(certificates: bytes, key: bytes) -> KeyPair:
    """A key pair; the first certificate is the one of the key. Raises UnreadablePEM, also if they do not match."""
    found, unreadable = load_certificates(certificates)
    if unreadable or not found:
        raise UnreadablePEM("the certificate cannot be read; want a certificate in PEM")
    try:
        public_key = load_private_key(key).public_key()
    except UnreadablePEM as error:
        raise UnreadablePEM(f"the private key is not usable: {error}") from None
    if not is_key_of(public_key, found[0]):
        raise UnreadablePEM("the private key belongs to another certificate; want the key of this certificate")
    return KeyPair(found[0], key, found[1:])


def is_key_of(key: PublicKeyTypes, certificate: x509.Certificate) -> bool:
    """Whether `key` is the certificate's public key."""
    return public_key_der(key) == public_key_der(certificate.public_key())


def public_key_der(key: PublicKeyTypes) -> bytes:
    """The SubjectPublicKeyInfo in its usual encoding, which a certificate's own need not have."""
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def dump_certificates(certificates: tuple[x509.Certificate, ...]) -> bytes:
    """The certificates as PEM, in the order given. Equal input gives equal bytes."""
    return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)


def dump_private_key(key: PrivateKeyTypes) -> bytes:
    """The key as unencrypted PKCS#8."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def fingerprint(certificate: x509.Certificate) -> str:
    """SHA-256 of the DER in hex, as `openssl x509 -fingerprint -sha256` prints it, without colons."""
    return hashlib.sha256(certificate.public_bytes(serialization.Encoding.DER)).hexdigest()


def _load_certificate(block: bytes) -> x509.Certificate | None:
    try:
        certificate = x509.load_pem_x509_certificate(block)
        # Parses what is lazy.
        public_key_der(certificate.public_key())
        for part in (certificate.subject, certificate.issuer, certificate.extensions):
            len(list(part))
        _ = (certificate.not_valid_before_utc, certificate.not_valid_after_utc, certificate.signature_algorithm_oid)
    except _LIBRARY_ERRORS:
        return None
    return certificate
