"""Garbage in: an answer out, or Unreadable, and nothing else."""

import base64
import contextlib
import warnings

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, x25519
from hypothesis import given, settings
from hypothesis import strategies as st

from certs import mint, pairs, pem, verify
from certs.errors import Unreadable
from tests.certs.foreign_certificates import NOON, YEAR

AUTHORITY = mint.authority(NOON, YEAR)
LEAF = mint.leaf(AUTHORITY, ["web.default.svc"], NOON, YEAR)
BUNDLE = pem.text((AUTHORITY.certificate,))
CHAIN = pem.text((LEAF.certificate,))


@pytest.mark.parametrize(
    ("data", "readable", "unreadable"),
    [
        (b"", 0, 0),
        (b"garbage", 0, 0),
        (BUNDLE + CHAIN, 2, 0),
        (b"# a comment\r\n" + BUNDLE.replace(b"\n", b"\r\n"), 1, 0),
        (BUNDLE + BUNDLE, 1, 0),
        (BUNDLE[:-40] + CHAIN, 0, 1),
        (BUNDLE + CHAIN[:200], 1, 1),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" + BUNDLE, 1, 1),
    ],
    ids=["empty", "garbage", "two", "comment and CRLF", "twice the same", "cut in front", "cut at the end", "no DER"],
)
def test_certificates_are_read_one_by_one_and_unreadable_ones_counted(
    data: bytes, readable: int, unreadable: int
) -> None:
    found, faults = pem.certificates(data)
    assert len(found) == readable
    assert (faults > 0) == (unreadable > 0)


def test_der_that_is_no_certificate_is_none() -> None:
    assert pem.from_der(b"\x30\x00") is None
    assert pem.from_der(AUTHORITY.certificate.public_bytes(serialization.Encoding.DER)) == AUTHORITY.certificate


def test_a_certificate_of_an_unknown_version_is_unreadable() -> None:
    der = bytearray(LEAF.certificate.public_bytes(serialization.Encoding.DER))
    version = der.index(b"\xa0\x03\x02\x01\x02") + 4
    der[version] = 1
    assert pem.from_der(bytes(der)) is None


def test_an_encrypted_key_is_named_as_such() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    with pytest.raises(Unreadable, match="encrypted"):
        pem.private_key(text)


def test_a_key_that_cannot_sign_makes_no_pair() -> None:
    key = pem.key_text(x25519.X25519PrivateKey.generate())
    with pytest.raises(Unreadable, match="cannot sign"):
        pairs.load(CHAIN, key)


def test_a_key_of_another_certificate_makes_no_pair() -> None:
    with pytest.raises(Unreadable, match="another certificate"):
        pairs.load(CHAIN, AUTHORITY.key)


def test_what_is_unreadable_is_never_repeated() -> None:
    with pytest.raises(Unreadable) as refused:
        pem.private_key(LEAF.key[:150])
    assert LEAF.key[40:60].decode() not in str(refused.value)


def mangled(original: bytes) -> st.SearchStrategy[bytes]:
    """The original with a few bytes changed, cut out or put in."""

    def apply(edits: list[tuple[int, bytes, int]]) -> bytes:
        data = original
        for position, text, dropped in edits:
            at = position % (len(data) + 1)
            data = data[:at] + text + data[at + dropped :]
        return data

    edit = st.tuples(st.integers(0, len(original)), st.binary(max_size=3), st.integers(0, 40))
    return st.lists(edit, min_size=1, max_size=4).map(apply)


def mangled_certificate() -> st.SearchStrategy[bytes]:
    """PEM around mangled DER: what gets past the outer reader."""
    der = LEAF.certificate.public_bytes(serialization.Encoding.DER)
    edit = st.tuples(st.integers(0, len(der) - 1), st.integers(0, 255))

    def wrap(edits: list[tuple[int, int]]) -> bytes:
        changed = bytearray(der)
        for position, value in edits:
            changed[position] = value
        body = base64.encodebytes(bytes(changed))
        return b"-----BEGIN CERTIFICATE-----\n" + body + b"-----END CERTIFICATE-----\n"

    return st.lists(edit, min_size=1, max_size=3).map(wrap)


@settings(max_examples=400, deadline=None)
@given(st.one_of(mangled(CHAIN), mangled_certificate(), st.binary(max_size=200)), mangled(LEAF.key), mangled(BUNDLE))
def test_no_garbage_makes_reading_or_verifying_raise_anything_else(chain: bytes, key: bytes, bundle: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cryptography warns of certificates that break RFC 5280
        for case in ((BUNDLE, chain, LEAF.key), (BUNDLE, CHAIN, key), (bundle, CHAIN, LEAF.key)):
            for problem in verify.problems(*case, ["web.default.svc"], NOON):
                assert str(problem)
        with contextlib.suppress(Unreadable):
            pairs.load(chain, key)
