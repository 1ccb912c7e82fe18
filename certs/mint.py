"""Makes certificates: an authority, and the leaf that it signs for a server. EC P-256, random serial numbers.

The extensions are those that the strictest common verifier asks for (OpenSSL's X509_V_FLAG_X509_STRICT, the default
of Python from 3.13; Go asks for less): basicConstraints and keyUsage critical on the authority, its key identifier,
and the authority's key identifier on the leaf.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519
from cryptography.hazmat.primitives.asymmetric.types import (
    CertificateIssuerPrivateKeyTypes,
    CertificatePublicKeyTypes,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs import names as naming
from certs import pem
from certs.pairs import Pair

BACKDATE = timedelta(minutes=5)
"""How long before `now` a certificate is valid from: an API server whose clock is behind by less accepts it at once.
A lifetime counts from `now`, not from there, so it is the same for every lifetime."""


def authority(now: datetime, lifetime: timedelta) -> Pair:
    """A self-signed authority, good from BACKDATE before `now` (aware) until `now` + `lifetime`.

    Each has a name of its own: while two are in one bundle, a verifier finds the right one by it.
    """
    serial = x509.random_serial_number()
    subject = _name(f"modelfit CA {serial:040x}"[:32])
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(subject, subject, key.public_key(), serial, now, _whole_second(now + lifetime))
    certificate = (
        builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Pair(certificate, pem.key_text(key))


def leaf(authority: Pair, names: Iterable[str], now: datetime, lifetime: timedelta) -> Pair:
    """A serving certificate for `names`, good from BACKDATE before `now` (aware) until `now` + `lifetime`, and never
    longer than its authority. Raises InvalidNames, and Unreadable where the authority's key cannot sign."""
    wanted = list(names)
    alternatives = naming.general_names(wanted)
    signing_key = authority.signing_key()
    key = ec.generate_private_key(ec.SECP256R1())
    end = min(_whole_second(now + lifetime), authority.certificate.not_valid_after_utc)
    subject = _name(naming.common_name(wanted))
    serial = x509.random_serial_number()
    certificate = (
        _builder(subject, authority.certificate.subject, key.public_key(), serial, now, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(_key_identifier(authority.certificate), critical=False)
        .sign(signing_key, _digest(signing_key))
    )
    return Pair(certificate, pem.key_text(key))


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: CertificatePublicKeyTypes,
    serial: int,
    now: datetime,
    end: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(serial)
        .not_valid_before((_utc(now) - BACKDATE).replace(microsecond=0))
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _key_identifier(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """What the authority calls its own key; an operator's authority may have named it by another rule than ours."""
    try:
        own = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        own = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _digest(key: CertificateIssuerPrivateKeyTypes) -> hashes.SHA256 | None:
    """The Edwards curves bring their own digest."""
    return None if isinstance(key, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey) else hashes.SHA256()


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"now: {moment} has no time zone; want an aware time, such as datetime.now(UTC)")
    return moment.astimezone(UTC)


def _whole_second(moment: datetime) -> datetime:
    """X.509 knows whole seconds. Upwards, so that a lifetime is never shorter than asked."""
    floor = _utc(moment).replace(microsecond=0)
    return floor if floor == moment else floor + timedelta(seconds=1)
