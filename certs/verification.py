"""Whether a client trusts a server certificate at a given time, and if not, why.

`cryptography.x509.verification` decides, with extension policies that refuse what Go's crypto/x509 refuses (the API
server's verifier) and ask for no more. `certs.algorithms` has the accepted keys: the library decides neither on the key
of a leaf nor on paths with an Ed25519 CA, which it refuses. The functions here decide on these and explain a refusal;
all problems are reported at once.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import Criticality, ExtensionPolicy, PolicyBuilder, Store, VerificationError

from certs import algorithms, hostnames, pem
from certs.exceptions import UnreadablePEM
from certs.pem import KeyPair

_Extension = TypeVar("_Extension", bound=x509.ExtensionType)

_SERVER_PURPOSES = {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
_PLAIN_EXTENSIONS = (x509.BasicConstraints, x509.KeyUsage, x509.ExtendedKeyUsage, x509.SubjectAlternativeName)
_ALL_EXTENSIONS = ExtensionPolicy.permit_all()
_POLICY = PolicyBuilder().extension_policies(
    ca_policy=_ALL_EXTENSIONS.require_present(x509.BasicConstraints, Criticality.AGNOSTIC, None),
    ee_policy=_ALL_EXTENSIONS.require_present(x509.SubjectAlternativeName, Criticality.AGNOSTIC, None),
)


def find_problems(bundle: bytes, chain: bytes, key: bytes, names: Collection[str], now: datetime) -> list[str]:
    """Problems of a server's `chain` (leaf first) and `key` for a client that trusts `bundle` and connects to any of
    `names`. All PEM, readable or not; `now` must be aware. Empty if there is no problem."""
    anchors, unreadable_anchors = pem.load_certificates(bundle)
    served, unreadable_served = pem.load_certificates(chain)
    problems = _key_problems(served, key)
    if unreadable_anchors or not anchors:
        problems.append(_unreadable("CA bundle", bundle, unreadable_anchors))
    if unreadable_served or not served:
        problems.append(_unreadable("serving certificate", chain, unreadable_served))
    if served and anchors:
        problems += key_pair_problems(KeyPair(served[0], key, served[1:]), anchors, now, names)
    elif served:
        problems += _leaf_problems(served[0], names, now)
    return problems


def is_trusted(pair: KeyPair | None, anchors: Sequence[x509.Certificate], now: datetime) -> bool:
    """Whether a client that trusts `anchors` accepts a server with `pair` for one of its names."""
    return pair is not None and not key_pair_problems(pair, anchors, now)


def key_pair_problems(
    pair: KeyPair, anchors: Sequence[x509.Certificate], now: datetime, names: Collection[str] = ()
) -> list[str]:
    """Problems of a key pair for a client that trusts `anchors` and connects to any of `names`; without `names`, to one
    of the certificate's own."""
    leaf = pair.certificate
    problems = _leaf_problems(leaf, names, now)
    # A host instead of a wildcard. Without any name, the library refuses the empty one.
    own = [name.replace("*", "host") for name in sorted(hostnames.on_certificate(leaf))]
    for name in names or own[:1] or [""]:
        try:
            verifier = (
                _POLICY.store(Store(list(anchors))).time(now).build_server_verifier(hostnames.to_general_name(name))
            )
            path_problems = [
                each for ca in verifier.verify(leaf, list(pair.chain))[1:] for each in ca_problems(ca, now)
            ]
        except (VerificationError, ValueError) as error:
            path, path_problems = _follow_path(leaf, pair.chain, anchors, now)
            if not problems and not path_problems and not (own and _is_ed25519_path(path)):
                reason = f"not trusted: {str(error)[:256]!a}"
                path_problems = [f"{_label(leaf)}: {reason}; want one that clients accept"]
        problems += [each for each in path_problems if each not in problems]
    return problems


def ca_problems(ca: x509.Certificate, now: datetime) -> list[str]:
    """Why a certificate cannot be the issuer of a server certificate at `now`."""
    problems = validity_problems(ca, now) + _purpose_problems(ca) + _key_type_problems(ca)
    constraints = _extension(ca, x509.BasicConstraints)
    if constraints is None or not constraints.ca:
        problems.append(f"{_label(ca)}: has no CA flag (basicConstraints CA:TRUE); want a CA to sign a certificate")
    usage = _extension(ca, x509.KeyUsage)
    if usage is not None and not usage.key_cert_sign:
        problems.append(f"{_label(ca)}: its key usage lacks keyCertSign; want a CA that may sign certificates")
    return problems


def validity_problems(certificate: x509.Certificate, now: datetime) -> list[str]:
    """Both ends are part of the validity period (RFC 5280, 4.1.2.5)."""
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now > end:
        return [f"{_label(certificate)}: expired at {end:%FT%TZ}; want one valid at {now:%FT%TZ}"]
    if now < start:
        want = f"want one valid at {now:%FT%TZ}, or set the clock right"
        return [f"{_label(certificate)}: not valid before {start:%FT%TZ}; {want}"]
    return []


def is_signed_by(certificate: x509.Certificate, ca: x509.Certificate) -> bool:
    """Whether the CA's key signed the certificate; flags and dates do not matter."""
    try:
        certificate.verify_directly_issued_by(ca)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return True


def _follow_path(
    certificate: x509.Certificate, chain: Iterable[x509.Certificate], anchors: Sequence[x509.Certificate], now: datetime
) -> tuple[list[x509.Certificate], list[str]]:
    """The path from a certificate to an anchor, and the problems of the nearest issuer that breaks it."""
    chain, path = list(chain), [certificate]
    while certificate not in anchors:
        issuers = [each for each in (*anchors, *chain) if each.subject == certificate.issuer and each != certificate]
        if not issuers:
            present = ", ".join(_quote(anchor.subject) for anchor in anchors[:4]) or "nothing"
            value = f"its issuer {_quote(certificate.issuer)} is not in the CA bundle, which has {present}"
            return path, [f"{_label(certificate)}: {value}; want the bundle of the CA that signed it"]
        signers = [each for each in issuers if is_signed_by(certificate, each)]
        if signers and (problems := ca_problems(signers[0], now)):
            return path, problems
        if problem := algorithms.signature_problem(certificate):
            return path, [f"{_label(certificate)}: {problem}"]
        if not signers:
            value = f"signed by another key than that of {_quote(certificate.issuer)} in the CA bundle"
            return path, [f"{_label(certificate)}: {value}; want the bundle of the CA that signed it"]
        certificate, chain = signers[0], [each for each in chain if each != signers[0]]
        path.append(certificate)
    return path, []


def _is_ed25519_path(path: Sequence[x509.Certificate]) -> bool:
    """Whether a path, of whose certificates each has signed the one before, is valid and has an Ed25519 CA. Paths with
    name constraints or uncommon critical extensions do not count as valid."""
    for below, certificate in enumerate(path):
        if any(each.critical and not isinstance(each.value, _PLAIN_EXTENSIONS) for each in certificate.extensions):
            return False
        constraints = _extension(certificate, x509.BasicConstraints)
        limit = constraints.path_length if constraints is not None else None
        if _extension(certificate, x509.NameConstraints) or (limit is not None and below > limit + 1):
            return False
    return any(map(algorithms.is_ed25519, path[1:]))


def _leaf_problems(leaf: x509.Certificate, names: Iterable[str], now: datetime) -> list[str]:
    """Problems of a server certificate that do not depend on its issuer."""
    problems = validity_problems(leaf, now) + _key_type_problems(leaf)
    for name in hostnames.missing(leaf, names):
        present = ", ".join(sorted(hostnames.on_certificate(leaf))[:8]) or "no name at all (the common name is ignored)"
        value = f"not for {name[:253]!a}, it is for {present[:512]}"
        problems.append(f"{_label(leaf)}: {value}; want a certificate with that name")
    problems += _purpose_problems(leaf)
    usage = _extension(leaf, x509.KeyUsage)
    if usage is not None and not usage.digital_signature:
        problems.append(f"{_label(leaf)}: its key usage lacks digitalSignature; want one that TLS 1.3 can use")
    return problems


def _purpose_problems(certificate: x509.Certificate) -> list[str]:
    purposes = _extension(certificate, x509.ExtendedKeyUsage)
    if purposes is None or not _SERVER_PURPOSES.isdisjoint(purposes):
        return []
    return [f"{_label(certificate)}: its extended key usage lacks serverAuth; want one made for servers"]


def _key_type_problems(certificate: x509.Certificate) -> list[str]:
    problem = algorithms.key_problem(certificate)
    return [f"{_label(certificate)}: {problem}"] if problem else []


def _key_problems(served: Sequence[x509.Certificate], key: bytes) -> list[str]:
    try:
        public_key = pem.load_private_key(key).public_key()
    except UnreadablePEM as error:
        return [f"private key: {error}"]
    if served and not pem.is_key_of(public_key, served[0]):
        return [f"private key: belongs to another certificate than {_label(served[0])}; want the key of that one"]
    return []


def _unreadable(what: str, data: bytes, unreadable: int) -> str:
    empty = "it contains no certificate" if data.strip() else "it is empty"
    value = f"{unreadable} of its blocks cannot be read" if unreadable else empty
    return f"{what}: {value}; want certificates in PEM"


def _extension(certificate: x509.Certificate, kind: type[_Extension]) -> _Extension | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _label(certificate: x509.Certificate) -> str:
    return f"certificate {_quote(certificate.subject)}"


def _quote(name: x509.Name) -> str:
    """A name, escaped and shortened."""
    return f"{name.rfc4514_string()[:96]!a}"
