"""Issues a CA and the server certificates (leaves) that it signs: EC P-256, random serial numbers.

The extensions satisfy OpenSSL's X509_V_FLAG_X509_STRICT, which is Python's default from 3.13: critical
basicConstraints and keyUsage, subjectKeyIdentifier on the CA, authorityKeyIdentifier on the leaf.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs import hostnames, pem
from certs.pem import KeyPair

BACKDATE = timedelta(minutes=5)
"""A certificate is valid from this long before `now`, for API servers whose clock is behind. Lifetimes count from
`now`."""


def issue_ca(now: datetime, lifetime: timedelta) -> KeyPair:
    """A self-signed CA, valid until `now` + `lifetime`. `now` must be aware.

    Its subject is unique, so that a client finds the right one of two CAs in a bundle.
    """
    serial = x509.random_serial_number()
    subject = _name(f"modelfit CA {serial:040x}"[:32])
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(key, subject, subject, now, _round_up(now + lifetime), ca=True).serial_number(serial)
    return KeyPair(builder.sign(key, hashes.SHA256()), pem.dump_private_key(key))


def issue_leaf(ca: KeyPair, names: Iterable[str], now: datetime, lifetime: timedelta) -> KeyPair:
    """A server certificate for `names`, valid until `now` + `lifetime` or the end of the CA. `now` must be aware.

    Raises InvalidNames, and UnreadablePEM if the CA's key is not usable.
    """
    names = list(names)
    alternatives = hostnames.general_names(names)
    key = ec.generate_private_key(ec.SECP256R1())
    end = min(_round_up(now + lifetime), ca.certificate.not_valid_after_utc)
    subject = _name(hostnames.common_name(names))
    builder = (
        _builder(key, subject, ca.certificate.subject, now, end, ca=False)
        .serial_number(x509.random_serial_number())
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(_authority_key_identifier(ca.certificate), critical=False)
    )
    signer = pem.load_private_key(ca.key)
    digest = None if isinstance(signer, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return KeyPair(builder.sign(signer, digest), pem.dump_private_key(key))


def _builder(
    key: ec.EllipticCurvePrivateKey, subject: x509.Name, issuer: x509.Name, now: datetime, end: datetime, *, ca: bool
) -> x509.CertificateBuilder:
    usage = x509.KeyUsage(
        digital_signature=not ca,
        key_cert_sign=ca,
        crl_sign=ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .not_valid_before((_to_utc(now) - BACKDATE).replace(microsecond=0))
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=0 if ca else None), critical=True)
        .add_extension(usage, critical=True)
    )


def _authority_key_identifier(ca: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """The CA's own subjectKeyIdentifier, which a foreign CA may have derived by another rule."""
    try:
        identifier = ca.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        identifier = x509.SubjectKeyIdentifier.from_public_key(ca.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _to_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"now: {moment} has no time zone; want an aware time, such as datetime.now(UTC)")
    return moment.astimezone(UTC)


def _round_up(moment: datetime) -> datetime:
    """X.509 has whole seconds. Rounded up, so that a lifetime is never shorter than asked."""
    floor = _to_utc(moment).replace(microsecond=0)
    return floor if floor == moment else floor + timedelta(seconds=1)
