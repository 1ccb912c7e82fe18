"""Garbage gives UnreadablePEM, or problems; no other exception."""

import base64
import contextlib
import ssl
import warnings

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, x25519
from hypothesis import given, settings
from hypothesis import strategies as st

from certs import issuing, pem, verification
from certs.exceptions import UnreadablePEM
from tests.certs.foreign_certificates import NOON, YEAR

CA = issuing.issue_ca(NOON, YEAR)
LEAF = issuing.issue_leaf(CA, ["web.default.svc"], NOON, YEAR)
BUNDLE = pem.dump_certificates((CA.certificate,))
CHAIN = pem.dump_certificates((LEAF.certificate,))


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
    ids=["empty", "garbage", "two", "comment and CRLF", "duplicate", "first cut", "last cut", "not DER"],
)
def test_readable_certificates_are_loaded_and_unreadable_ones_counted(
    data: bytes, readable: int, unreadable: int
) -> None:
    found, faults = pem.load_certificates(data)
    assert len(found) == readable
    assert (faults > 0) == (unreadable > 0)


def test_a_certificate_of_an_unknown_version_is_unreadable() -> None:
    der = bytearray(LEAF.certificate.public_bytes(serialization.Encoding.DER))
    der[der.index(b"\xa0\x03\x02\x01\x02") + 4] = 1
    assert pem.load_certificates(ssl.DER_cert_to_PEM_cert(bytes(der)).encode()) == ((), 1)


def test_an_encrypted_key_is_reported_as_encrypted() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    with pytest.raises(UnreadablePEM, match="encrypted"):
        pem.load_private_key(text)


def test_a_key_of_another_type_is_refused() -> None:
    key = pem.dump_private_key(x25519.X25519PrivateKey.generate())
    with pytest.raises(UnreadablePEM, match="want an EC, RSA or Ed25519"):
        pem.load_key_pair(CHAIN, key)


def test_a_key_of_another_certificate_is_refused() -> None:
    with pytest.raises(UnreadablePEM, match="another certificate"):
        pem.load_key_pair(CHAIN, CA.key)


def test_a_message_never_contains_the_input() -> None:
    with pytest.raises(UnreadablePEM) as error:
        pem.load_private_key(LEAF.key[:150])
    assert LEAF.key[40:60].decode() not in str(error.value)


def mangled(original: bytes) -> st.SearchStrategy[bytes]:
    """The original with a few bytes replaced, removed or inserted."""

    def apply(edits: list[tuple[int, bytes, int]]) -> bytes:
        data = original
        for position, text, dropped in edits:
            at = position % (len(data) + 1)
            data = data[:at] + text + data[at + dropped :]
        return data

    edit = st.tuples(st.integers(0, len(original)), st.binary(max_size=3), st.integers(0, 40))
    return st.lists(edit, min_size=1, max_size=4).map(apply)


def mangled_certificate() -> st.SearchStrategy[bytes]:
    """Valid PEM around mangled DER."""
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
def test_garbage_raises_no_other_exception(chain: bytes, key: bytes, bundle: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cryptography warns about certificates that violate RFC 5280
        for case in ((BUNDLE, chain, LEAF.key), (BUNDLE, CHAIN, key), (bundle, CHAIN, LEAF.key)):
            for problem in verification.find_problems(*case, ["web.default.svc"], NOON):
                assert problem
        with contextlib.suppress(UnreadablePEM):
            pem.load_key_pair(chain, key)
