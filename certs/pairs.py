"""A certificate together with its private key, and a chain where it needs one."""

from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes

from certs import pem
from certs.errors import Unreadable

SIGNING_KEYS = (
    ec.EllipticCurvePrivateKey,
    rsa.RSAPrivateKey,
    ed25519.Ed25519PrivateKey,
    ed448.Ed448PrivateKey,
    dsa.DSAPrivateKey,
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and the private key that belongs to it. `load` is the way in for foreign bytes."""

    certificate: x509.Certificate
    key: bytes = field(repr=False)
    """Unencrypted PEM. Not in the repr, so that no log line and no traceback shows it."""

    chain: tuple[x509.Certificate, ...] = ()
    """Intermediates that a server sends along; an operator's certificate may need them, ours never do."""

    def signing_key(self) -> CertificateIssuerPrivateKeyTypes:
        """The key, loaded. Raises Unreadable for a key that cannot sign certificates."""
        return signing_key(self.key)


def signing_key(key: bytes) -> CertificateIssuerPrivateKeyTypes:
    """A private key that can sign certificates, from PEM. Raises Unreadable."""
    loaded = pem.private_key(key)
    if not isinstance(loaded, SIGNING_KEYS):
        raise Unreadable("it is of a kind that cannot sign; want an EC, RSA or Ed25519 private key")
    return loaded


def load(certificate: bytes, key: bytes) -> Pair:
    """A pair from two PEM texts, the serving certificate first in the one. Raises Unreadable: an unreadable
    certificate, an unreadable key, or a key of another certificate."""
    found, unreadable = pem.certificates(certificate)
    if unreadable or not found:
        raise Unreadable("the certificate cannot be read; want a certificate in PEM")
    pair = Pair(found[0], key, found[1:])
    try:
        public = pair.signing_key().public_key()
    except Unreadable as fault:
        raise Unreadable(f"the private key is not usable: {fault}") from None
    if pem.spki(public) != pem.spki(found[0].public_key()):
        raise Unreadable("the private key belongs to another certificate; want the one that the certificate names")
    return pair
