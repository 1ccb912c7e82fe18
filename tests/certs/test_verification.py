"""What a Go client refuses is refused, and the reason is reported."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from certs import issuing, pem, verification
from certs.pem import KeyPair
from tests.certs import foreign_certificates as foreign
from tests.certs.foreign_certificates import CLIENT_ONLY, NOON, YEAR, Key, Shape, make
from tests.certs.tls_clients import accepts

SERVICE = "modelfit.default.svc"
CA = issuing.issue_ca(NOON, YEAR)
LEAF = issuing.issue_leaf(CA, [SERVICE], NOON, timedelta(days=30))
SECOND = timedelta(seconds=1)
SERVER = Shape(subject="server", names=[SERVICE])

# Parts of the messages.
EMPTY_KEY, BAD_KEY = "private key: it is empty", "private key: it cannot be read"
BUNDLE, CHAIN = "CA bundle: ", "serving certificate: "
MISMATCH = "private key: belongs to another certificate"
EXPIRED, TOO_EARLY = "expired at", "not valid before"
NAME_MISSING, NO_SERVER_AUTH, NO_DIGITAL_SIGNATURE = "not for 'modelfit", "lacks serverAuth", "lacks digitalSignature"
UNKNOWN_ISSUER, WRONG_SIGNATURE = "is not in the CA bundle, which has", "signed by another key"
NOT_A_CA, NOT_TRUSTED = ("has no CA flag", "lacks keyCertSign"), "not trusted: "


def text(*pairs: KeyPair) -> bytes:
    return pem.dump_certificates(tuple(each.certificate for each in pairs))


def check(problems: list[str], *expected: str) -> None:
    """The problems are as expected, each by a part of its message."""
    assert len(problems) == len(expected), problems
    for problem, part in zip(problems, expected, strict=True):
        assert part in problem


def find(bundle: bytes, chain: bytes, key: bytes, now: datetime = NOON) -> list[str]:
    return verification.find_problems(bundle, chain, key, [SERVICE], now)


def test_an_issued_pair_has_no_problem() -> None:
    check(find(text(CA), text(LEAF), LEAF.key))
    assert accepts(text(CA), LEAF.certificate, SERVICE, NOON)


@pytest.mark.parametrize(
    ("garbage", "bad_key"),
    [(b"", EMPTY_KEY), (b"garbage", BAD_KEY), (text(LEAF)[:300], BAD_KEY)],
    ids=["empty", "garbage", "cut"],
)
def test_each_unreadable_part_is_reported(garbage: bytes, bad_key: str) -> None:
    check(find(garbage, text(LEAF), LEAF.key), BUNDLE)
    check(find(text(CA), garbage, LEAF.key), CHAIN)
    check(find(text(CA), text(LEAF), garbage), bad_key)
    check(find(garbage, garbage, garbage), bad_key, BUNDLE, CHAIN)


def test_an_unreadable_block_beside_good_ones_is_a_problem() -> None:
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    check(find(text(CA) + broken, text(LEAF), LEAF.key), BUNDLE)


def test_a_key_of_another_certificate_is_a_mismatch() -> None:
    check(find(text(CA), text(LEAF), CA.key), MISMATCH)


def test_all_problems_are_reported_at_once() -> None:
    wrong = make(Shape(names=["other.svc"], end=NOON - SECOND, purposes=CLIENT_ONLY, signs_certificates=False,
                       signs_handshakes=False))  # fmt: skip
    expected = (MISMATCH, EXPIRED, NAME_MISSING, NO_SERVER_AUTH, NO_DIGITAL_SIGNATURE, UNKNOWN_ISSUER)
    check(find(text(CA), text(wrong), LEAF.key), *expected)


@pytest.mark.parametrize("certificate", [LEAF.certificate, CA.certificate], ids=["leaf", "CA"])
def test_both_ends_are_part_of_the_validity_period(certificate: x509.Certificate) -> None:
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    microsecond = timedelta(microseconds=1)
    moments = {start - microsecond: TOO_EARLY, start: None, end: None, end + microsecond: EXPIRED}
    for moment, expected in moments.items():
        problems = find(text(CA), text(LEAF), LEAF.key, moment)
        own = [each for each in problems if f"'{certificate.subject.rfc4514_string()}': " in each]
        check(own, *([expected] if expected else []))


def test_a_missing_name_is_reported_with_those_present() -> None:
    names = [SERVICE, "modelfit.other.svc"]
    (problem,) = verification.find_problems(text(CA), text(LEAF), LEAF.key, names, NOON)
    assert "not for 'modelfit.other.svc', it is for modelfit.default.svc" in problem


def test_the_common_name_is_ignored() -> None:
    ca = make(foreign.CA)
    leaf = make(Shape(subject=SERVICE), ca)
    check(find(text(ca), text(leaf), leaf.key), NAME_MISSING)
    assert not verification.is_trusted(leaf, (ca.certificate,), NOON)


def test_a_wildcard_and_an_address_are_names() -> None:
    wildcard = make(Shape(names=["*.default.svc"]), ca := make(foreign.CA))
    check(find(text(ca), text(wildcard), wildcard.key))
    assert verification.is_trusted(wildcard, (ca.certificate,), NOON)
    address = issuing.issue_leaf(CA, ["10.0.0.1"], NOON, YEAR)
    assert verification.is_trusted(address, (CA.certificate,), NOON)
    assert verification.find_problems(text(CA), text(address), address.key, ["10.0.0.1"], NOON) == []
    check(find(text(CA), text(address), address.key), NAME_MISSING)


def test_an_issuer_that_is_not_in_the_bundle_is_unknown() -> None:
    other = text(issuing.issue_ca(NOON, YEAR))
    check(find(other, text(LEAF), LEAF.key), UNKNOWN_ISSUER)
    assert not accepts(other, LEAF.certificate, SERVICE, NOON)


def test_a_ca_of_the_same_name_with_another_key_did_not_sign() -> None:
    ca = make(foreign.CA)
    leaf = make(SERVER, ca)
    check(find(text(make(foreign.CA)), text(leaf), leaf.key), WRONG_SIGNATURE)
    check(find(text(make(foreign.CA), ca), text(leaf), leaf.key))


UNUSABLE_CAS = {
    "no CA flag": (Shape("ca"), NOT_A_CA[0]),
    "CA flag false": (Shape("ca", ca=False), NOT_A_CA[0]),
    "no keyCertSign": (Shape("ca", ca=True, signs_certificates=False), NOT_A_CA[1]),
    "expired": (Shape("ca", ca=True, end=NOON - SECOND), EXPIRED),
    "not yet valid": (Shape("ca", ca=True, start=NOON + SECOND), TOO_EARLY),
    "for clients only": (Shape("ca", ca=True, purposes=CLIENT_ONLY), NO_SERVER_AUTH),
    "unknown critical extension": (
        Shape("ca", ca=True, critical=x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")),
        NOT_TRUSTED,
    ),
    "constrained to other names": (
        Shape("ca", ca=True, critical=x509.NameConstraints([x509.DNSName("example.com")], None)),
        NOT_TRUSTED,
    ),
}


P256, ED25519 = partial(ec.generate_private_key, ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate
KEYS = pytest.mark.parametrize("new_key", [P256, ED25519], ids=["P-256", "Ed25519"])
"""`cryptography` decides on paths of the first kind, this repository on those of the second."""


@KEYS
@pytest.mark.parametrize(("shape", "expected"), UNUSABLE_CAS.values(), ids=UNUSABLE_CAS.keys())
def test_what_is_wrong_with_a_ca_is_a_problem_of_its_leaf(
    shape: Shape, expected: str, new_key: Callable[[], Key]
) -> None:
    ca = make(shape, key=new_key())
    leaf = make(SERVER, ca)
    check(find(text(ca), text(leaf), leaf.key), expected)
    root = make(foreign.CA)
    intermediate = make(shape, root, key=new_key())
    leaf = make(SERVER, intermediate)
    check(find(text(root), text(leaf, intermediate), leaf.key), expected)


@KEYS
def test_a_leaf_with_an_unknown_critical_extension_is_not_trusted(new_key: Callable[[], Key]) -> None:
    unknown = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")
    leaf = make(Shape("server", names=[SERVICE], critical=unknown), ca := make(foreign.CA, key=new_key()))
    check(find(text(ca), text(leaf), leaf.key), NOT_TRUSTED)


@KEYS
def test_a_chain_longer_than_the_path_length_of_the_ca_is_not_trusted(new_key: Callable[[], Key]) -> None:
    root = make(Shape("root", ca=True, path_length=0), key=new_key())
    intermediate = make(Shape("intermediate", ca=True), root)
    leaf = make(SERVER, intermediate)
    check(find(text(root), text(leaf, intermediate), leaf.key), NOT_TRUSTED)
    direct = make(SERVER, root)
    check(find(text(root), text(direct), direct.key))


@KEYS
def test_a_chain_is_followed_in_any_order_and_anywhere_into_the_bundle(new_key: Callable[[], Key]) -> None:
    root = make(foreign.CA, key=new_key())
    first = make(Shape(subject="first", ca=True), root)
    second = make(Shape(subject="second", ca=True), first, key=new_key())
    leaf = make(SERVER, second)
    check(find(text(root), text(leaf, second, first), leaf.key))
    check(find(text(root), text(leaf, first, second), leaf.key))
    check(find(text(root), text(leaf, second), leaf.key), UNKNOWN_ISSUER)
    check(find(text(second), text(leaf), leaf.key))


def test_one_good_path_is_enough() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    expired, good = make(Shape("ca", ca=True, end=NOON - SECOND), key=key), make(Shape("ca", ca=True), key=key)
    leaf = make(SERVER, good)
    check(find(text(expired, good), text(leaf), leaf.key))
    check(find(text(expired), text(leaf), leaf.key), EXPIRED)


def test_a_self_signed_serving_certificate_in_the_bundle_is_trusted_as_by_go() -> None:
    leaf = make(SERVER)
    check(find(text(leaf), text(leaf), leaf.key))


def test_certificates_that_sign_each_other_do_not_loop() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    ring = [make(Shape(subject="ring", ca=True), key=key) for _ in range(12)]
    leaf = make(SERVER, ring[0])
    check(find(text(CA), text(leaf, *ring), leaf.key), UNKNOWN_ISSUER)


def test_a_hostile_subject_cannot_forge_a_line() -> None:
    leaf = make(SERVER, make(Shape(subject="x\ny\x1b[31m", ca=True)))
    for problem in find(text(CA), text(leaf), leaf.key):
        assert problem.isprintable()
