from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from certs import mint, pem, verify
from certs.pairs import Pair
from certs.trust import Kind
from tests.certs.foreign_certificates import AUTHORITY, CLIENT_ONLY, NOON, YEAR, Shape, make
from tests.certs.tls_clients import accepts

SERVICE = "modelfit.default.svc"
CA = mint.authority(NOON, YEAR)
LEAF = mint.leaf(CA, [SERVICE], NOON, timedelta(days=30))
SECOND = timedelta(seconds=1)
SERVER = Shape(subject="server", names=[SERVICE])


def text(*certificates: Pair) -> bytes:
    return pem.text(tuple(each.certificate for each in certificates))


def kinds(bundle: bytes, chain: bytes, key: bytes, names: list[str] | None = None) -> list[Kind]:
    return [each.kind for each in verify.problems(bundle, chain, key, [SERVICE] if names is None else names, NOON)]


def test_a_minted_pair_has_no_problem() -> None:
    assert kinds(text(CA), text(LEAF), LEAF.key) == []


@pytest.mark.parametrize("garbage", [b"", b"garbage", text(LEAF)[:300]], ids=["empty", "garbage", "half"])
def test_each_unreadable_part_is_named(garbage: bytes) -> None:
    assert kinds(garbage, text(LEAF), LEAF.key) == [Kind.UNREADABLE_BUNDLE]
    assert kinds(text(CA), garbage, LEAF.key) == [Kind.UNREADABLE_CHAIN]
    assert kinds(text(CA), text(LEAF), garbage) == [Kind.UNREADABLE_KEY]
    assert kinds(garbage, garbage, garbage) == [Kind.UNREADABLE_KEY, Kind.UNREADABLE_BUNDLE, Kind.UNREADABLE_CHAIN]


def test_a_block_that_an_api_server_would_choke_on_is_a_problem_beside_good_ones() -> None:
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    assert kinds(text(CA) + broken, text(LEAF), LEAF.key) == [Kind.UNREADABLE_BUNDLE]


def test_a_key_of_another_certificate_is_a_mismatch() -> None:
    assert kinds(text(CA), text(LEAF), CA.key) == [Kind.KEY_MISMATCH]


def test_every_problem_is_reported_at_once() -> None:
    wrong = make(Shape(names=["other.svc"], end=NOON - SECOND, purposes=CLIENT_ONLY, signs_certificates=False,
                       signs_handshakes=False))  # fmt: skip
    assert kinds(text(CA), text(wrong), LEAF.key) == [
        Kind.KEY_MISMATCH,
        Kind.EXPIRED,
        Kind.NAME_MISSING,
        Kind.NO_SERVER_AUTH,
        Kind.NO_DIGITAL_SIGNATURE,
        Kind.UNKNOWN_ISSUER,
    ]


def test_both_ends_belong_to_the_life_of_a_certificate() -> None:
    for certificate in (LEAF.certificate, CA.certificate):
        start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        moments = {start - SECOND: Kind.NOT_YET_VALID, start: None, end: None, end + SECOND: Kind.EXPIRED}
        for moment, kind in moments.items():
            found = verify.problems(text(CA), text(LEAF), LEAF.key, [SERVICE], moment)
            subject = certificate.subject.rfc4514_string()
            assert [each.kind for each in found if f"'{subject}': " in each.sentence] == ([kind] if kind else [])


def test_a_name_that_is_missing_is_named_with_those_there_are() -> None:
    (problem,) = verify.problems(text(CA), text(LEAF), LEAF.key, [SERVICE, "modelfit.other.svc"], NOON)
    assert problem.kind is Kind.NAME_MISSING
    assert "'modelfit.other.svc'" in str(problem)
    assert SERVICE in str(problem)


def test_a_common_name_is_no_name() -> None:
    foreign = make(AUTHORITY)
    leaf = make(Shape(subject=SERVICE), foreign)
    assert kinds(text(foreign), text(leaf), leaf.key) == [Kind.NAME_MISSING]


def test_an_issuer_that_is_not_in_the_bundle_is_unknown() -> None:
    assert kinds(text(mint.authority(NOON, YEAR)), text(LEAF), LEAF.key) == [Kind.UNKNOWN_ISSUER]


def test_an_authority_of_the_same_name_with_another_key_did_not_sign() -> None:
    foreign = make(AUTHORITY)
    leaf = make(SERVER, foreign)
    assert kinds(text(make(AUTHORITY)), text(leaf), leaf.key) == [Kind.WRONG_SIGNATURE]
    assert kinds(text(make(AUTHORITY), foreign), text(leaf), leaf.key) == []


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (Shape(subject="no flag"), [Kind.NOT_AN_AUTHORITY]),
        (Shape(subject="flag says no", ca=False), [Kind.NOT_AN_AUTHORITY]),
        (Shape(subject="may not sign", ca=True, signs_certificates=False), [Kind.NOT_AN_AUTHORITY]),
        (Shape(subject="over", ca=True, end=NOON - SECOND), [Kind.EXPIRED]),
        (Shape(subject="not begun", ca=True, start=NOON + SECOND), [Kind.NOT_YET_VALID]),
    ],
    ids=lambda value: value.subject if isinstance(value, Shape) else "",
)
def test_what_is_wrong_with_an_authority_is_a_problem_of_its_leaf(shape: Shape, expected: list[Kind]) -> None:
    foreign = make(shape)
    leaf = make(SERVER, foreign)
    assert kinds(text(foreign), text(leaf), leaf.key) == expected


def test_a_certificate_for_clients_does_not_serve() -> None:
    foreign = make(AUTHORITY)
    leaf = make(Shape(names=[SERVICE], purposes=CLIENT_ONLY), foreign)
    assert kinds(text(foreign), text(leaf), leaf.key) == [Kind.NO_SERVER_AUTH]


def test_a_chain_leads_over_its_intermediates_to_the_bundle() -> None:
    root = make(AUTHORITY)
    first = make(Shape(subject="first", ca=True), root)
    second = make(Shape(subject="second", ca=True), first)
    leaf = make(SERVER, second)
    assert kinds(text(root), text(leaf, second, first), leaf.key) == []
    assert kinds(text(root), text(leaf, second), leaf.key) == [Kind.UNKNOWN_ISSUER]
    assert kinds(text(second), text(leaf), leaf.key) == []


def test_an_intermediate_without_a_flag_breaks_the_chain() -> None:
    root = make(AUTHORITY)
    middle = make(Shape(subject="middle"), root)
    leaf = make(SERVER, middle)
    assert kinds(text(root), text(leaf, middle), leaf.key) == [Kind.NOT_AN_AUTHORITY]


def test_one_good_way_is_enough() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    over, good = make(Shape(subject="ca", ca=True, end=NOON - SECOND), key=key), make(Shape("ca", ca=True), key=key)
    leaf = make(SERVER, good)
    assert kinds(text(over, good), text(leaf), leaf.key) == []
    assert kinds(text(over), text(leaf), leaf.key) == [Kind.EXPIRED]


def test_a_self_signed_serving_certificate_in_the_bundle_is_trusted_as_go_does() -> None:
    leaf = make(SERVER)
    assert kinds(text(leaf), text(leaf), leaf.key) == []


def test_certificates_that_sign_each_other_come_to_an_end() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    ring = [make(Shape(subject="ring", ca=True), key=key) for _ in range(12)]
    leaf = make(SERVER, ring[0])
    assert kinds(text(CA), text(leaf, *ring), leaf.key) == [Kind.UNKNOWN_ISSUER]


def test_a_hostile_subject_cannot_forge_a_line() -> None:
    foreign = make(Shape(subject="x\ny\x1b[31m", ca=True))
    leaf = make(SERVER, foreign)
    for problem in verify.problems(text(CA), text(leaf), leaf.key, [SERVICE], NOON):
        assert str(problem).isprintable()


def test_an_independent_client_agrees_on_a_good_pair_and_on_a_wrong_bundle() -> None:
    assert accepts(text(CA), LEAF.certificate, SERVICE, NOON)
    assert not accepts(text(mint.authority(NOON, YEAR)), LEAF.certificate, SERVICE, NOON)
    assert not accepts(text(CA), LEAF.certificate, SERVICE, NOON + timedelta(days=31))
