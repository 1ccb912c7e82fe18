"""Everything that is wrong with what a server serves and a client trusts, at a given time.

All of it at once, as values: whoever repairs a Secret by hand shall not meet the faults one by one.
"""

from collections.abc import Iterable
from datetime import datetime

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from certs import names as naming
from certs import pem, trust
from certs.errors import Unreadable
from certs.pairs import Pair
from certs.trust import Kind, Problem, called


def problems(bundle: bytes, chain: bytes, key: bytes, names: Iterable[str], now: datetime) -> tuple[Problem, ...]:
    """What is wrong with a server's `chain` (leaf first) and `key` in the eyes of a client that trusts `bundle` and
    calls the server by any of `names`; all PEM. Empty: nothing. `now` is aware. Never raises over bad PEM."""
    found = _key_problems(chain, key)
    anchors, unreadable = pem.certificates(bundle)
    if unreadable or not anchors:
        found.append(Problem(Kind.UNREADABLE_BUNDLE, _unreadable("CA bundle", bundle, unreadable)))
    served, unreadable = pem.certificates(chain)
    if unreadable or not served:
        found.append(Problem(Kind.UNREADABLE_CHAIN, _unreadable("serving certificate", chain, unreadable)))
    if served:
        found += leaf_problems(served[0], names, now)
    if served and anchors:
        found += trust.problems(served[0], served[1:], anchors, now)
    return tuple(found)


def leaf_problems(certificate: x509.Certificate, names: Iterable[str], now: datetime) -> list[Problem]:
    """What is wrong with a serving certificate in itself, whoever signed it."""
    found = trust.validity_problems(certificate, now)
    for name in naming.missing(certificate, names):
        carried = ", ".join(sorted(naming.of(certificate))[:8]) or "no name at all (the common name does not count)"
        sentence = f"{called(certificate)}: not for {name[:253]!a}, it is for {carried[:512]}"
        found.append(Problem(Kind.NAME_MISSING, f"{sentence}; want a certificate with that name"))
    purposes = trust.extension(certificate, x509.ExtendedKeyUsage)
    accepted = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)
    if purposes is not None and not any(purpose in accepted for purpose in purposes):
        sentence = f"{called(certificate)}: its extended key usage lacks serverAuth; want one made for a server"
        found.append(Problem(Kind.NO_SERVER_AUTH, sentence))
    usage = trust.extension(certificate, x509.KeyUsage)
    if usage is not None and not usage.digital_signature:
        sentence = f"{called(certificate)}: its key usage lacks digitalSignature; want one that TLS 1.3 can use"
        found.append(Problem(Kind.NO_DIGITAL_SIGNATURE, sentence))
    return found


def servable(pair: Pair | None, anchors: Iterable[x509.Certificate], now: datetime) -> bool:
    """Whether a server can serve `pair` to a client that trusts `anchors`; its names are another matter."""
    if pair is None:
        return False
    leaf = pair.certificate
    return not leaf_problems(leaf, (), now) and not trust.problems(leaf, pair.chain, anchors, now)


def _key_problems(chain: bytes, key: bytes) -> list[Problem]:
    try:
        public = pem.private_key(key).public_key()
    except Unreadable as fault:
        return [Problem(Kind.UNREADABLE_KEY, f"private key: {fault}")]
    served, _ = pem.certificates(chain)
    if served and pem.spki(served[0].public_key()) != pem.spki(public):
        sentence = f"private key: belongs to another certificate than {called(served[0])}; want the key of that one"
        return [Problem(Kind.KEY_MISMATCH, sentence)]
    return []


def _unreadable(what: str, data: bytes, unreadable: int) -> str:
    if unreadable:
        saw = f"{unreadable} of its blocks cannot be read"
    else:
        saw = "there is no certificate in it" if data.strip() else "it is empty"
    return f"{what}: {saw}; want certificates in PEM"
