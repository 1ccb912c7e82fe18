"""Reads the expiry time of a certificate from its DER encoding.

The server needs this one field for a metric and a log line. Importing `cryptography` for it would add 12 MB to every
replica, and the `ssl` module does not expose OpenSSL's decoder.
"""

import binascii
import re
from datetime import UTC, datetime

_PEM = re.compile(rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----([^-]+)-----END")
_SEQUENCE, _EXPLICIT_VERSION, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0xA0, 0x17, 0x18


def not_after(pem: bytes) -> datetime:
    """The notAfter time of the first certificate in `pem`. Raises ValueError if there is no valid certificate."""
    block = _PEM.search(pem)
    if block is None:
        raise ValueError("no certificate in PEM")
    try:
        certificate, _ = _open_element(binascii.a2b_base64(block[1]), _SEQUENCE)
        tbs_certificate, _ = _open_element(certificate, _SEQUENCE)
        return _parse_not_after(tbs_certificate)
    except IndexError:
        raise ValueError("the certificate is truncated") from None


def _parse_not_after(tbs_certificate: bytes) -> datetime:
    """RFC 5280, 4.1: [0] version, serialNumber, signature, issuer, validity { notBefore, notAfter }, …"""
    rest = tbs_certificate
    if rest[0] == _EXPLICIT_VERSION:
        _, _, rest = _split_element(rest)
    for _ in ("serialNumber", "signature", "issuer"):
        _, _, rest = _split_element(rest)
    validity, _ = _open_element(rest, _SEQUENCE)
    _, _, after_not_before = _split_element(validity)
    tag, text, _ = _split_element(after_not_before)
    if tag == _UTC_TIME:
        # RFC 5280, 4.1.2.5.1: two-digit years from 50 are 19xx, below 50 are 20xx.
        text = (b"19" if text[:2] >= b"50" else b"20") + text
    elif tag != _GENERALIZED_TIME:
        raise ValueError("the certificate has no notAfter time")
    return datetime.strptime(text.decode("ascii"), "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


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
