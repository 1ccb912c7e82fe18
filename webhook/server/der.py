"""When a certificate ends, read from its DER.

The serving process needs this one date, for a metric and a log line, and must stay small: `cryptography` would add
12 MB to every replica, and OpenSSL's own decoder is not reachable through `ssl`.
"""

import binascii
import re
from datetime import UTC, datetime

_PEM = re.compile(rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----([^-]+)-----END")
_SEQUENCE, _EXPLICIT_VERSION, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0xA0, 0x17, 0x18


def not_after(pem: bytes) -> datetime:
    """The end of the first certificate in `pem`. Raises ValueError where there is none."""
    block = _PEM.search(pem)
    if block is None:
        raise ValueError("no certificate in PEM")
    try:
        certificate, _ = _enter(binascii.a2b_base64(block[1]), _SEQUENCE)
        return _expiry(_enter(certificate, _SEQUENCE)[0])
    except IndexError:
        raise ValueError("a certificate that is cut off") from None


def _expiry(body: bytes) -> datetime:
    """RFC 5280, 4.1: [0] version, serialNumber, signature, issuer, validity { notBefore, notAfter }, …"""
    if body[0] == _EXPLICIT_VERSION:
        _, _, body = _split(body)
    for _ in ("serialNumber", "signature", "issuer"):
        _, _, body = _split(body)
    validity, _ = _enter(body, _SEQUENCE)
    _, _, rest = _split(validity)
    tag, text, _ = _split(rest)
    if tag == _UTC_TIME:
        # Two digits of the year, 50 to 49 (RFC 5280, 4.1.2.5.1).
        text = (b"19" if text[:2] >= b"50" else b"20") + text
    elif tag != _GENERALIZED_TIME:
        raise ValueError("a certificate without an end")
    return datetime.strptime(text.decode("ascii"), "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


def _enter(data: bytes, wanted: int) -> tuple[bytes, bytes]:
    """The content of the first element, which must be a `wanted`, and what follows it."""
    tag, content, rest = _split(data)
    if tag != wanted:
        raise ValueError("no certificate in DER")
    return content, rest


def _split(data: bytes) -> tuple[int, bytes, bytes]:
    """Tag and content of the first element, and what follows it."""
    length, start = data[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[2:start], "big")
    if start + length > len(data):
        raise IndexError
    return data[0], data[start : start + length], data[start + length :]
