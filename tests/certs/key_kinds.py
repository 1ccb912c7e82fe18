"""A key pair of every kind of key and signature, with the verdicts of the API server and of `certs.verification`.

The check accepts less than Go in two cases: RSA-1024, which the webhook's OpenSSL does not load, and CAs with P-224.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from certs.pem import KeyPair
from tests.certs import foreign_certificates as foreign
from tests.certs.foreign_certificates import Key, Shape, make

_SHA256_WITH_RSA = bytes.fromhex("300d06092a864886f70d01010b0500")


def _rsa(bits: int) -> Key:
    return rsa.generate_private_key(65537, bits)


def _ec(curve: ec.EllipticCurve) -> Callable[[], Key]:
    return lambda: ec.generate_private_key(curve)


KEYS: dict[str, Callable[[], Key]] = {
    "P-256": _ec(ec.SECP256R1()),
    "P-384": _ec(ec.SECP384R1()),
    "P-521": _ec(ec.SECP521R1()),
    "P-224": _ec(ec.SECP224R1()),
    "P-192": _ec(ec.SECP192R1()),
    "secp256k1": _ec(ec.SECP256K1()),
    "brainpoolP256r1": _ec(ec.BrainpoolP256R1()),
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
    "Ed448": ed448.Ed448PrivateKey.generate,
    "RSA-1024": lambda: _rsa(1024),
    "RSA-2048": lambda: _rsa(2048),
    "DSA": lambda: dsa.generate_private_key(2048),
}
ACCEPTED = {"P-256", "P-384", "P-521", "Ed25519", "RSA-2048"}
ACCEPTED_BY_GO = {
    "leaf": ACCEPTED | {"RSA-1024"},
    "CA": ACCEPTED | {"RSA-1024", "P-224"},
}
DIGESTS: dict[str, tuple[hashes.HashAlgorithm, int]] = {
    "SHA-1": (hashes.SHA1(), 0x05),  # noqa: S303
    "SHA-224": (hashes.SHA224(), 0x0E),
    "SHA-256": (hashes.SHA256(), 0x0B),
    "SHA-512": (hashes.SHA512(), 0x0D),
}


@dataclass(frozen=True)
class Case:
    """A CA and a leaf that it signed; `fault` is a part of the problem, empty if the check accepts the pair."""

    ca: KeyPair
    leaf: KeyPair
    accepted_by_go: bool
    fault: str


CASES = {
    **{f"{kind} as {role}": (kind, role) for kind in KEYS for role in ("leaf", "CA")},
    **{f"signed with {digest}": (digest, "signature") for digest in DIGESTS},
    "compressed point": ("", "compressed"),
}


def make_case(case_id: str, shape: Shape) -> Case:
    """`shape` is that of the leaf; the CA is valid at the same time."""
    kind, role = CASES[case_id]
    ca_shape = replace(foreign.CA, start=shape.start, end=shape.end)
    if role == "signature":
        ca = make(ca_shape, key=_rsa(2048))
        accepted = kind in ("SHA-256", "SHA-512")
        return Case(ca, sign_with(make(shape, ca), ca, kind), accepted, "" if accepted else "want SHA-256")
    if role == "compressed":
        ca = make(ca_shape, key=_rsa(2048))
        return Case(ca, compress(make(shape, ca), ca), False, "want rsaEncryption, or EC with an uncompressed point")
    key = KEYS[kind]()
    ca = make(ca_shape, key=key if role == "CA" else None)
    leaf = make(shape, ca, key=key if role == "leaf" else None)
    fault = "" if kind in ACCEPTED else "; want RSA with 2048 to 8192 bits, EC P-256, P-384 or P-521, or Ed25519"
    return Case(ca, leaf, kind in ACCEPTED_BY_GO[role], fault)


def sign_with(pair: KeyPair, ca: KeyPair, digest: str) -> KeyPair:
    """The pair with its certificate signed again by an RSA `ca`. `cryptography` itself does not sign with SHA-1."""
    algorithm, oid_end = DIGESTS[digest]
    identifier = _SHA256_WITH_RSA[:-3] + bytes([oid_end]) + _SHA256_WITH_RSA[-2:]
    tbs = pair.certificate.tbs_certificate_bytes.replace(_SHA256_WITH_RSA, identifier)
    return _assemble(pair, ca, tbs, identifier, algorithm)


def compress(pair: KeyPair, ca: KeyPair) -> KeyPair:
    """The pair, of a P-256 key, with a compressed point, signed by an RSA `ca`."""
    key = pair.certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    usual = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    algorithm = usual[usual.index(b"\x30", 1) : usual.index(b"\x03\x42\x00\x04")]
    point = key.public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
    tbs = pair.certificate.tbs_certificate_bytes
    body = tbs[2 + (tbs[1] & 0x7F if tbs[1] & 0x80 else 0) :].replace(
        usual, _der(0x30, algorithm + _der(0x03, b"\0" + point))
    )
    return _assemble(pair, ca, _der(0x30, body), _SHA256_WITH_RSA, hashes.SHA256())


def _assemble(pair: KeyPair, ca: KeyPair, tbs: bytes, identifier: bytes, algorithm: hashes.HashAlgorithm) -> KeyPair:
    signer = load_pem_private_key(ca.key, None)
    assert isinstance(signer, rsa.RSAPrivateKey)
    signature = signer.sign(tbs, padding.PKCS1v15(), algorithm)
    der = _der(0x30, tbs + identifier + _der(0x03, b"\0" + signature))
    return KeyPair(x509.load_der_x509_certificate(der), pair.key)


def _der(tag: int, content: bytes) -> bytes:
    length = len(content)
    if length < 0x80:
        return bytes([tag, length]) + content
    size = (length.bit_length() + 7) // 8
    return bytes([tag, 0x80 | size]) + length.to_bytes(size, "big") + content
