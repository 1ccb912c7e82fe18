"""Reads the expiry time and the kind of key of a certificate from its DER encoding.

The server needs these two fields only. Importing `cryptography` for them would add 12 MB to every replica, and the
`ssl` module does not expose OpenSSL's decoder.
"""

import binascii
import re
from datetime import UTC, datetime

_PEM = re.compile(rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----([^-]+)-----END")
_SEQUENCE, _EXPLICIT_VERSION, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0xA0, 0x17, 0x18

_EC = bytes.fromhex("06072a8648ce3d0201")
_API_SERVER_KEYS = {
    bytes.fromhex("06092a864886f70d0101010500"),  # RSA
    bytes.fromhex("06032b6570"),  # Ed25519
    _EC + bytes.fromhex("06082a8648ce3d030107"),  # P-256
    _EC + bytes.fromhex("06052b81040022"),  # P-384
    _EC + bytes.fromhex("06052b81040023"),  # P-521
}
"""The AlgorithmIdentifiers (RFC 5480, RFC 8410) of the public keys that Go's crypto/tls accepts of a server."""


def not_after(pem: bytes) -> datetime:
    """The notAfter time of the first certificate in `pem`. Raises ValueError if there is no valid certificate."""
    return _parse(pem)[0]


def is_key_for_api_servers(pem: bytes) -> bool:
    """Whether the API server accepts the kind of key of the first certificate in `pem`. Raises ValueError if there is
    no valid certificate."""
    return _parse(pem)[1] in _API_SERVER_KEYS


def _parse(pem: bytes) -> tuple[datetime, bytes]:
    """The notAfter time and the public key's AlgorithmIdentifier."""
    block = _PEM.search(pem)
    if block is None:
        raise ValueError("no certificate in PEM")
    try:
        certificate, _ = _open_element(binascii.a2b_base64(block[1]), _SEQUENCE)
        tbs_certificate, _ = _open_element(certificate, _SEQUENCE)
        return _parse_tbs_certificate(tbs_certificate)
    except IndexError:
        raise ValueError("the certificate is truncated") from None


def _parse_tbs_certificate(tbs_certificate: bytes) -> tuple[datetime, bytes]:
    """RFC 5280, 4.1: [0] version, serialNumber, signature, issuer, validity { notBefore, notAfter }, subject,
    subjectPublicKeyInfo { algorithm, … }, …"""
    rest = tbs_certificate
    if rest[0] == _EXPLICIT_VERSION:
        _, _, rest = _split_element(rest)
    for _ in ("serialNumber", "signature", "issuer"):
        _, _, rest = _split_element(rest)
    validity, rest = _open_element(rest, _SEQUENCE)
    _, _, after_not_before = _split_element(validity)
    tag, text, _ = _split_element(after_not_before)
    if tag == _UTC_TIME:
        # RFC 5280, 4.1.2.5.1: two-digit years from 50 are 19xx, below 50 are 20xx.
        text = (b"19" if text[:2] >= b"50" else b"20") + text
    elif tag != _GENERALIZED_TIME:
        raise ValueError("the certificate has no notAfter time")
    expiry = datetime.strptime(text.decode("ascii"), "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    _, _, rest = _split_element(rest)
    public_key, _ = _open_element(rest, _SEQUENCE)
    return expiry, _open_element(public_key, _SEQUENCE)[0]


def _open_element(data: bytes, expected_tag: int) -> tuple[bytes, bytes]:
    """Content of the first element and the bytes after it. Raises ValueError if the tag is not `expected_tag`."""
    tag, content, rest = _split_element(data)
    if tag != expected_tag:
        raise ValueError("no certificate in DER")
    return content, rest


def _split_element(data: bytes) -> tuple[int, bytes, bytes]:
    """Tag and content of the first element, and the bytes after it. Raises IndexError if `data` is truncated."""
    length, start = data[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[2:start], "big")
    if start + length > len(data):
        raise IndexError
    return data[0], data[start : start + length], data[start + length :]
