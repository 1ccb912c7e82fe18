"""Keys and signatures that both the API server's verifier (Go's crypto/tls and x509) and the webhook's OpenSSL accept.

Go refuses other curves, Ed448, DSA, served RSA keys above 8192 bits and signatures with MD5 or SHA-1. OpenSSL at its
default security level refuses RSA below 2048 bits.
"""

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from certs import pem

MIN_RSA_BITS, MAX_RSA_BITS = 2048, 8192

_CURVES = {ec.SECP256R1.name, ec.SECP384R1.name, ec.SECP521R1.name}
_HASHES = {"sha256", "sha384", "sha512"}
_WANT_KEY = f"want RSA with {MIN_RSA_BITS} to {MAX_RSA_BITS} bits, EC P-256, P-384 or P-521, or Ed25519"


def key_problem(certificate: x509.Certificate) -> str:
    """Why a client refuses the public key of a certificate; empty if it does not."""
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey):
        accepted, value = MIN_RSA_BITS <= key.key_size <= MAX_RSA_BITS, f"RSA with {key.key_size} bits"
    elif isinstance(key, ec.EllipticCurvePublicKey):
        accepted, value = key.curve.name in _CURVES, f"EC {key.curve.name}"
    else:
        value = type(key).__name__.removesuffix("PublicKey")
        accepted = isinstance(key, ed25519.Ed25519PublicKey)
    if accepted and pem.public_key_der(key) not in certificate.tbs_certificate_bytes:
        # Go reads neither compressed points nor keys that are restricted to RSASSA-PSS.
        return f"its key is {value} in an uncommon encoding; want rsaEncryption, or EC with an uncompressed point"
    return "" if accepted else f"its key is {value}; {_WANT_KEY}"


def is_ed25519(certificate: x509.Certificate) -> bool:
    return isinstance(certificate.public_key(), ed25519.Ed25519PublicKey)


def signature_problem(certificate: x509.Certificate) -> str:
    """Why a client refuses the algorithm of a certificate's signature; empty if it does not."""
    if certificate.signature_algorithm_oid == x509.SignatureAlgorithmOID.ED25519:
        return ""
    try:
        digest = certificate.signature_hash_algorithm
    except UnsupportedAlgorithm:
        digest = None
    if digest is not None and digest.name in _HASHES:
        return ""
    value = digest.name if digest is not None else certificate.signature_algorithm_oid.dotted_string
    return f"its signature uses {value}; want SHA-256, SHA-384 or SHA-512"
