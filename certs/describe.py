"""A state in words, for `modelfit certs show`: what is served, who is trusted, what is wrong, what comes next."""

from datetime import datetime

from cryptography import x509

from certs import names, pem, trust, verify
from certs.policy import Policy
from certs.rotation import upcoming
from certs.state import State


def describe(state: State, now: datetime, policy: Policy) -> list[str]:
    """Lines of text. `now` is aware. Never a private key."""
    return [*_leaf(state, now), *_authorities(state, now), *_problems(state, now), *_upcoming(state, now, policy)]


def _leaf(state: State, now: datetime) -> list[str]:
    if state.leaf is None:
        return ["leaf: none"]
    leaf = state.leaf.certificate
    return [
        f"leaf: {leaf.subject.rfc4514_string()}, {_life(leaf, now)}",
        f"  for {', '.join(sorted(names.of(leaf))) or 'no name'}",
        f"  signed by {leaf.issuer.rfc4514_string()}",
        f"  sha256 {pem.fingerprint(leaf)}",
    ]


def _authorities(state: State, now: datetime) -> list[str]:
    roles = {
        pair.certificate: role for role, pair in (("next", state.next), ("current", state.current)) if pair is not None
    }
    lines = []
    for authority in state.authorities():
        role = roles.get(authority, "retired")
        lines.append(f"authority ({role}): {authority.subject.rfc4514_string()}, {_life(authority, now)}")
        lines.append(f"  sha256 {pem.fingerprint(authority)}")
    return lines or ["authority: none"]


def _problems(state: State, now: datetime) -> list[str]:
    if state.leaf is None:
        return ["problem: there is no leaf to serve"]
    leaf = state.leaf
    found = verify.leaf_problems(leaf.certificate, (), now)
    found += trust.problems(leaf.certificate, leaf.chain, state.authorities(), now)
    return [f"problem: {each}" for each in found] or ["no problem: clients that trust these authorities trust the leaf"]


def _upcoming(state: State, now: datetime, policy: Policy) -> list[str]:
    lines = [f"{action}: {'due' if at <= now else f'at {at:%FT%TZ}'}" for at, action in upcoming(state, policy)]
    if state.next is not None and state.trusted_since is None:
        lines.append("switch: once every client is seen to trust the next authority")
    return lines


def _life(certificate: x509.Certificate, now: datetime) -> str:
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now > end:
        return f"expired at {end:%FT%TZ}"
    if now < start:
        return f"not valid before {start:%FT%TZ}"
    return f"valid until {end:%FT%TZ}, {end - now} from now"
