import ssl
from datetime import UTC, datetime, timedelta, timezone

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs import mint, names, pem, verify
from certs.errors import InvalidNames
from certs.pairs import Pair
from tests.certs.foreign_certificates import AUTHORITY, NOON, YEAR, make
from tests.certs.tls_clients import accepts, handshake

DAY = timedelta(days=1)
SERVICE = "modelfit.default.svc"


def common_name(certificate: x509.Certificate) -> str:
    return str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def test_a_strict_client_completes_a_handshake_with_a_minted_pair() -> None:
    now = datetime.now(UTC)
    authority = mint.authority(now, YEAR)
    leaf = mint.leaf(authority, [SERVICE, "127.0.0.1", "::1"], now, DAY)
    for name in (SERVICE, "127.0.0.1", "::1"):
        handshake(pem.text((authority.certificate,)), leaf, name)


def test_a_strict_client_finds_the_right_authority_in_a_bundle_of_old_and_new() -> None:
    now = datetime.now(UTC)
    old, new = mint.authority(now, YEAR), mint.authority(now, YEAR)
    for order in ((old, new), (new, old)):
        bundle = pem.text(tuple(each.certificate for each in order))
        for authority in (old, new):
            handshake(bundle, mint.leaf(authority, [SERVICE], now, DAY), SERVICE)


def test_a_client_of_the_old_bundle_refuses_a_leaf_of_the_new_authority() -> None:
    now = datetime.now(UTC)
    old, new = mint.authority(now, YEAR), mint.authority(now, YEAR)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(pem.text((old.certificate,)), mint.leaf(new, [SERVICE], now, DAY), SERVICE)


def test_a_client_refuses_a_name_that_is_not_on_the_leaf() -> None:
    now = datetime.now(UTC)
    authority = mint.authority(now, YEAR)
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(pem.text((authority.certificate,)), mint.leaf(authority, [SERVICE], now, DAY), "other.default.svc")


def test_an_authority_may_sign_certificates_and_nothing_else() -> None:
    certificate = mint.authority(NOON, YEAR).certificate
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    assert (usage.critical, usage.value.key_cert_sign, usage.value.crl_sign) == (True, True, True)
    assert not usage.value.digital_signature
    assert len(certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest) == 20


def test_a_leaf_is_for_servers_and_points_at_its_authority() -> None:
    authority = mint.authority(NOON, YEAR)
    leaf = mint.leaf(authority, [SERVICE], NOON, DAY).certificate
    named = leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    own = authority.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    purposes = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert named == own
    assert list(purposes) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert isinstance(leaf.public_key(), ec.EllipticCurvePublicKey)


def test_an_api_server_whose_clock_is_two_minutes_behind_accepts_a_new_leaf() -> None:
    authority = mint.authority(NOON, YEAR)
    leaf = mint.leaf(authority, [SERVICE], NOON, DAY)
    bundle = pem.text((authority.certificate,))
    assert accepts(bundle, leaf.certificate, SERVICE, NOON - timedelta(minutes=2))
    assert not accepts(bundle, leaf.certificate, SERVICE, NOON - mint.BACKDATE - timedelta(seconds=1))


@pytest.mark.parametrize("lifetime", [timedelta(minutes=1), timedelta(hours=1), timedelta(days=90)], ids=str)
def test_a_lifetime_counts_from_now_and_not_from_the_back_dated_start(lifetime: timedelta) -> None:
    certificate = mint.authority(NOON, lifetime).certificate
    assert certificate.not_valid_after_utc == NOON + lifetime
    assert certificate.not_valid_before_utc == NOON - mint.BACKDATE


def test_a_lifetime_that_ends_within_a_second_lasts_to_the_end_of_it() -> None:
    now = NOON + timedelta(microseconds=1)
    assert mint.authority(now, DAY).certificate.not_valid_after_utc == NOON + DAY + timedelta(seconds=1)


def test_a_leaf_never_outlives_its_authority() -> None:
    authority = mint.authority(NOON, DAY)
    leaf = mint.leaf(authority, [SERVICE], NOON + timedelta(hours=23), YEAR)
    assert leaf.certificate.not_valid_after_utc == authority.certificate.not_valid_after_utc


def test_the_time_zone_of_now_does_not_matter_and_a_time_without_one_is_refused() -> None:
    tokyo = NOON.astimezone(timezone(timedelta(hours=9)))
    assert mint.authority(tokyo, DAY).certificate.not_valid_after_utc == NOON + DAY
    with pytest.raises(ValueError, match="has no time zone"):
        mint.authority(NOON.replace(tzinfo=None), DAY)


@pytest.mark.parametrize("release", ["a", "release-of-53-characters-" + "x" * 28, "s" * 63])
@pytest.mark.parametrize("namespace", ["default", "n" * 63])
def test_a_common_name_has_64_characters_at_most_whatever_the_service_is_called(release: str, namespace: str) -> None:
    service = f"{release}.{namespace}.svc"
    authority = mint.authority(NOON, YEAR)
    leaf = mint.leaf(authority, [service], NOON, DAY).certificate
    assert len(common_name(leaf)) <= 64
    assert len(common_name(authority.certificate)) <= 64
    assert names.of(leaf) == {service}
    assert accepts(pem.text((authority.certificate,)), leaf, service, NOON)


def test_a_short_name_is_the_common_name_for_people_to_read() -> None:
    leaf = mint.leaf(mint.authority(NOON, YEAR), ["l" * 63 + ".default.svc", SERVICE], NOON, DAY)
    assert common_name(leaf.certificate) == SERVICE


def test_wrong_names_are_refused_and_no_leaf_is_made() -> None:
    with pytest.raises(InvalidNames, match="a_b"):
        mint.leaf(mint.authority(NOON, YEAR), ["a_b"], NOON, DAY)


def test_authorities_have_serial_numbers_and_names_of_their_own() -> None:
    made = [mint.authority(NOON, YEAR).certificate for _ in range(20)]
    assert len({each.serial_number for each in made}) == 20
    assert len({common_name(each) for each in made}) == 20


@pytest.mark.parametrize(
    "key",
    [
        rsa.generate_private_key(65537, 2048),
        ed25519.Ed25519PrivateKey.generate(),
        ec.generate_private_key(ec.SECP384R1()),
    ],
    ids=["RSA", "Ed25519", "P-384"],
)
def test_an_operators_authority_of_another_kind_of_key_signs_too(
    key: rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey,
) -> None:
    foreign = make(AUTHORITY, key=key) if isinstance(key, ec.EllipticCurvePrivateKey) else _self_signed(key)
    leaf = mint.leaf(foreign, [SERVICE], NOON, DAY)
    bundle = pem.text((foreign.certificate,))
    assert verify.problems(bundle, pem.text((leaf.certificate,)), leaf.key, [SERVICE], NOON) == ()


def _self_signed(key: rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey) -> Pair:
    subject = make(AUTHORITY).certificate.subject
    builder = (
        x509.CertificateBuilder(subject, subject, key.public_key(), 1, NOON - YEAR, NOON + YEAR)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )  # fmt: skip
    return Pair(
        builder.sign(key, None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()), pem.key_text(key)
    )


def test_a_private_key_is_in_no_repr() -> None:
    pair = mint.authority(NOON, YEAR)
    assert "PRIVATE KEY" in pair.key.decode()
    assert "PRIVATE" not in repr(pair)
