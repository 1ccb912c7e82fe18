"""The way from a certificate to an authority that a client trusts, and what is wrong on it.

A client tries every way and is content with one; so what is reported is what is wrong on the best of them. The rules
are those of Go's crypto/x509, which is what an API server verifies with: everything in the bundle is an anchor, also
a self-signed serving certificate.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

Extension = TypeVar("Extension", bound=x509.ExtensionType)

MAX_INTERMEDIATES = 4
"""Every order of them is tried, so a chain of many that sign each other would take for ever."""


class Kind(StrEnum):
    """What can be wrong with a certificate, for those who count or branch."""

    UNREADABLE_BUNDLE = "unreadable-bundle"
    UNREADABLE_CHAIN = "unreadable-chain"
    UNREADABLE_KEY = "unreadable-key"
    KEY_MISMATCH = "key-mismatch"
    EXPIRED = "expired"
    NOT_YET_VALID = "not-yet-valid"
    NAME_MISSING = "name-missing"
    NO_SERVER_AUTH = "no-server-auth"
    NO_DIGITAL_SIGNATURE = "no-digital-signature"
    UNKNOWN_ISSUER = "unknown-issuer"
    WRONG_SIGNATURE = "wrong-signature"
    NOT_AN_AUTHORITY = "not-an-authority"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong; `sentence` says where, what was seen and what is accepted."""

    kind: Kind
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def problems(
    certificate: x509.Certificate, chain: Sequence[x509.Certificate], anchors: Iterable[x509.Certificate], now: datetime
) -> list[Problem]:
    """What is wrong on the best way from `certificate` to one of `anchors`, by way of `chain`; empty: trusted."""
    roots, chain = tuple(anchors), chain[:MAX_INTERMEDIATES]
    if certificate in roots:
        return []
    named = [each for each in (*roots, *chain) if each.subject == certificate.issuer and each != certificate]
    if not named:
        return [Problem(Kind.UNKNOWN_ISSUER, _unknown(certificate, roots))]
    signers = [each for each in named if signed_by(certificate, each)]
    if not signers:
        saw = f"{called(certificate)}: signed by another key than that of {_called(certificate.issuer)}"
        return [Problem(Kind.WRONG_SIGNATURE, f"{saw} in the CA bundle; want the bundle of the CA that signed it")]
    ways = (
        authority_problems(signer, now)
        + ([] if signer in roots else problems(signer, [each for each in chain if each != signer], roots, now))
        for signer in signers
    )
    return min(ways, key=len)


def trusted(certificate: x509.Certificate, anchors: Iterable[x509.Certificate], now: datetime) -> bool:
    """Whether a client that holds `anchors` trusts a bare leaf, its own dates and names aside."""
    return not problems(certificate, (), anchors, now)


def authority_problems(authority: x509.Certificate, now: datetime) -> list[Problem]:
    """What keeps a certificate from being the authority over another at `now`."""
    found = validity_problems(authority, now)
    constraints = extension(authority, x509.BasicConstraints)
    if constraints is None or not constraints.ca:
        sentence = f"{called(authority)}: has no CA flag (basicConstraints CA:TRUE); want a CA to sign a certificate"
        found.append(Problem(Kind.NOT_AN_AUTHORITY, sentence))
    usage = extension(authority, x509.KeyUsage)
    if usage is not None and not usage.key_cert_sign:
        sentence = f"{called(authority)}: its key usage lacks keyCertSign; want a CA that may sign certificates"
        found.append(Problem(Kind.NOT_AN_AUTHORITY, sentence))
    return found


def validity_problems(certificate: x509.Certificate, now: datetime) -> list[Problem]:
    """Both ends belong to the time of validity (RFC 5280, 4.1.2.5)."""
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now > end:
        saw = f"{called(certificate)}: expired at {end:%FT%TZ}"
        return [Problem(Kind.EXPIRED, f"{saw}; want one valid at {now:%FT%TZ}")]
    if now < start:
        saw = f"{called(certificate)}: not valid before {start:%FT%TZ}"
        return [Problem(Kind.NOT_YET_VALID, f"{saw}; want one valid at {now:%FT%TZ}, or set the clock right")]
    return []


def signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether the authority's key signed the certificate; neither flags nor dates are looked at."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return True


def extension(certificate: x509.Certificate, kind: type[Extension]) -> Extension | None:
    """The value of an extension; None where the certificate has none."""
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def called(certificate: x509.Certificate) -> str:
    """What a sentence calls a certificate: its subject, escaped and short."""
    return f"certificate {_called(certificate.subject)}"


def _called(name: x509.Name) -> str:
    return f"{name.rfc4514_string()[:96]!a}"


def _unknown(certificate: x509.Certificate, roots: tuple[x509.Certificate, ...]) -> str:
    known = ", ".join(_called(root.subject) for root in roots[:4]) or "nothing"
    saw = f"{called(certificate)}: its issuer {_called(certificate.issuer)} is not in the CA bundle, which has {known}"
    return f"{saw}; want the bundle of the CA that signed it"
