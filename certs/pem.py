"""PEM in and out. Whatever arrives may be garbage, half of it, or a stranger's: nothing here raises but Unreadable.

A certificate counts as readable only when all of it is: subject, public key and extensions. `cryptography` reads
those late, and a certificate whose extensions do not parse would else raise far from here.
"""

import hashlib
import re

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes

from certs.errors import Unreadable

CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
BEGIN = b"-----BEGIN CERTIFICATE-----"

FOREIGN_FAULTS = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)
"""What `cryptography` raises over input that it cannot read."""


def certificates(data: bytes) -> tuple[tuple[x509.Certificate, ...], int]:
    """The certificates in `data`, in order, each once, and the number of blocks that cannot be read."""
    blocks = CERTIFICATE.findall(data)
    readable = [certificate for block in blocks if (certificate := _certificate(block)) is not None]
    return tuple(dict.fromkeys(readable)), max(data.count(BEGIN), len(blocks)) - len(readable)


def from_der(data: bytes) -> x509.Certificate | None:
    """A certificate as `ssl.SSLSocket.getpeercert(binary_form=True)` gives it; None where it is none."""
    try:
        return _whole(x509.load_der_x509_certificate(data))
    except FOREIGN_FAULTS:
        return None


def private_key(data: bytes) -> PrivateKeyTypes:
    """The private key in `data`. Raises Unreadable: empty, no key, encrypted, or of an unknown kind."""
    if not data.strip():
        raise Unreadable("it is empty; want a private key in PEM")
    try:
        return serialization.load_pem_private_key(data, password=None)
    except TypeError:
        raise Unreadable("it is encrypted; want a private key in PEM without a passphrase") from None
    except FOREIGN_FAULTS:
        raise Unreadable("it cannot be read; want a private key in PEM") from None


def spki(key: PublicKeyTypes) -> bytes:
    """A public key as bytes to compare by."""
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def text(certificates: tuple[x509.Certificate, ...]) -> bytes:
    """The certificates as PEM, in the order given; equal input, equal bytes."""
    return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)


def key_text(key: PrivateKeyTypes) -> bytes:
    """An unencrypted PKCS#8 private key."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def fingerprint(certificate: x509.Certificate) -> str:
    """SHA-256 of the DER, in hex: what `openssl x509 -fingerprint -sha256` prints, without its colons."""
    return hashlib.sha256(certificate.public_bytes(serialization.Encoding.DER)).hexdigest()


def _certificate(block: bytes) -> x509.Certificate | None:
    try:
        return _whole(x509.load_pem_x509_certificate(block))
    except FOREIGN_FAULTS:
        return None


def _whole(certificate: x509.Certificate) -> x509.Certificate:
    """Reads now what would be read late, so that what is wrong with it is known here."""
    spki(certificate.public_key())
    for part in (certificate.subject, certificate.issuer, certificate.extensions):
        len(list(part))
    _ = (certificate.not_valid_before_utc, certificate.not_valid_after_utc, certificate.signature_algorithm_oid)
    return certificate
