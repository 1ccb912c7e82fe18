import ssl
from datetime import UTC, datetime, timedelta, timezone

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs import hostnames, issuing, pem, verification
from certs.exceptions import InvalidNames
from tests.certs.foreign_certificates import CA, NOON, YEAR, make
from tests.certs.tls_clients import accepts, handshake

DAY = timedelta(days=1)
SERVICE = "modelfit.default.svc"


def common_name(certificate: x509.Certificate) -> str:
    return str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


@pytest.mark.parametrize("name", [SERVICE, "127.0.0.1", "::1"])
def test_a_strict_client_completes_a_handshake(name: str) -> None:
    now = datetime.now(UTC)
    ca = issuing.issue_ca(now, YEAR)
    handshake(pem.dump_certificates((ca.certificate,)), issuing.issue_leaf(ca, [SERVICE, name], now, DAY), name)


def test_a_strict_client_finds_the_right_ca_in_a_bundle_of_old_and_new() -> None:
    now = datetime.now(UTC)
    old, new = issuing.issue_ca(now, YEAR), issuing.issue_ca(now, YEAR)
    for order in ((old, new), (new, old)):
        bundle = pem.dump_certificates(tuple(each.certificate for each in order))
        for ca in (old, new):
            handshake(bundle, issuing.issue_leaf(ca, [SERVICE], now, DAY), SERVICE)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(pem.dump_certificates((old.certificate,)), issuing.issue_leaf(new, [SERVICE], now, DAY), SERVICE)


def test_a_client_refuses_a_name_that_is_not_on_the_leaf() -> None:
    now = datetime.now(UTC)
    ca = issuing.issue_ca(now, YEAR)
    leaf = issuing.issue_leaf(ca, [SERVICE], now, DAY)
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(pem.dump_certificates((ca.certificate,)), leaf, "other.default.svc")


def test_a_ca_may_sign_certificates_and_nothing_else() -> None:
    certificate = issuing.issue_ca(NOON, YEAR).certificate
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    assert (usage.critical, usage.value.key_cert_sign, usage.value.crl_sign) == (True, True, True)
    assert not usage.value.digital_signature
    assert len(certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest) == 20


def test_a_leaf_is_for_servers_and_refers_to_its_ca() -> None:
    ca = issuing.issue_ca(NOON, YEAR)
    leaf = issuing.issue_leaf(ca, [SERVICE], NOON, DAY).certificate
    reference = leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    own = ca.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    assert reference == own
    assert list(leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [
        ExtendedKeyUsageOID.SERVER_AUTH
    ]
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert isinstance(leaf.public_key(), ec.EllipticCurvePublicKey)


def test_an_api_server_whose_clock_is_two_minutes_behind_accepts_a_new_leaf() -> None:
    ca = issuing.issue_ca(NOON, YEAR)
    leaf = issuing.issue_leaf(ca, [SERVICE], NOON, DAY)
    bundle = pem.dump_certificates((ca.certificate,))
    assert accepts(bundle, leaf.certificate, SERVICE, NOON - timedelta(minutes=2))
    assert not accepts(bundle, leaf.certificate, SERVICE, NOON - issuing.BACKDATE - timedelta(seconds=1))


@pytest.mark.parametrize("lifetime", [timedelta(minutes=1), timedelta(hours=1), timedelta(days=90)], ids=str)
def test_a_lifetime_counts_from_now_and_not_from_the_backdated_start(lifetime: timedelta) -> None:
    certificate = issuing.issue_ca(NOON, lifetime).certificate
    assert certificate.not_valid_after_utc == NOON + lifetime
    assert certificate.not_valid_before_utc == NOON - issuing.BACKDATE


def test_a_lifetime_is_rounded_up_to_a_second() -> None:
    now = NOON + timedelta(microseconds=1)
    assert issuing.issue_ca(now, DAY).certificate.not_valid_after_utc == NOON + DAY + timedelta(seconds=1)


def test_a_leaf_never_outlives_its_ca() -> None:
    ca = issuing.issue_ca(NOON, DAY)
    leaf = issuing.issue_leaf(ca, [SERVICE], NOON + timedelta(hours=23), YEAR)
    assert leaf.certificate.not_valid_after_utc == ca.certificate.not_valid_after_utc


def test_the_time_zone_of_now_does_not_matter_and_a_time_without_one_is_refused() -> None:
    tokyo = NOON.astimezone(timezone(timedelta(hours=9)))
    assert issuing.issue_ca(tokyo, DAY).certificate.not_valid_after_utc == NOON + DAY
    with pytest.raises(ValueError, match="has no time zone"):
        issuing.issue_ca(NOON.replace(tzinfo=None), DAY)


@pytest.mark.parametrize("release", ["a", "release-of-53-characters-" + "x" * 28, "s" * 63])
@pytest.mark.parametrize("namespace", ["default", "n" * 63])
def test_a_common_name_has_64_characters_at_most_whatever_the_service_is_called(release: str, namespace: str) -> None:
    service = f"{release}.{namespace}.svc"
    ca = issuing.issue_ca(NOON, YEAR)
    leaf = issuing.issue_leaf(ca, [service], NOON, DAY).certificate
    assert len(common_name(leaf)) <= 64
    assert len(common_name(ca.certificate)) <= 64
    assert hostnames.on_certificate(leaf) == {service}
    assert accepts(pem.dump_certificates((ca.certificate,)), leaf, service, NOON)


def test_the_first_short_name_is_the_common_name() -> None:
    leaf = issuing.issue_leaf(issuing.issue_ca(NOON, YEAR), ["l" * 63 + ".default.svc", SERVICE], NOON, DAY)
    assert common_name(leaf.certificate) == SERVICE


def test_invalid_names_are_refused() -> None:
    with pytest.raises(InvalidNames, match="a_b"):
        issuing.issue_leaf(issuing.issue_ca(NOON, YEAR), ["a_b"], NOON, DAY)


def test_cas_have_unique_serial_numbers_and_names() -> None:
    cas = [issuing.issue_ca(NOON, YEAR).certificate for _ in range(20)]
    assert len({each.serial_number for each in cas}) == 20
    assert len({common_name(each) for each in cas}) == 20


@pytest.mark.parametrize(
    "key", [rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP384R1())], ids=["RSA", "P-384"]
)
def test_a_foreign_ca_with_another_type_of_key_signs_too(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> None:
    foreign = make(CA, key=key)
    leaf = issuing.issue_leaf(foreign, [SERVICE], NOON, DAY)
    assert verification.is_trusted(leaf, (foreign.certificate,), NOON)


def test_a_private_key_is_in_no_repr() -> None:
    pair = issuing.issue_ca(NOON, YEAR)
    assert "PRIVATE KEY" in pair.key.decode()
    assert "PRIVATE" not in repr(pair)
