"""A state as text, for `modelfit certs show`: the leaf, the CAs, problems, and what is due next."""

from datetime import datetime

from cryptography import x509

from certs import hostnames, pem, verification
from certs.rotation import upcoming
from certs.rotation_config import RotationConfig
from certs.secret_data import State


def describe(state: State, now: datetime, config: RotationConfig) -> list[str]:
    """Lines of text, never with a private key. `now` must be aware."""
    return [*_leaf(state, now), *_cas(state, now), *_problems(state, now), *_upcoming(state, now, config)]


def _leaf(state: State, now: datetime) -> list[str]:
    if state.leaf is None:
        return ["leaf: none"]
    leaf = state.leaf.certificate
    return [
        f"leaf: {leaf.subject.rfc4514_string()}, {_validity(leaf, now)}",
        f"  for {', '.join(sorted(hostnames.on_certificate(leaf))) or 'no name'}",
        f"  signed by {leaf.issuer.rfc4514_string()}",
        f"  sha256 {pem.fingerprint(leaf)}",
    ]


def _cas(state: State, now: datetime) -> list[str]:
    roles = {pair.certificate: role for role, pair in (("next", state.next), ("current", state.current)) if pair}
    lines = []
    for ca in state.cas:
        lines.append(f"CA ({roles.get(ca, 'retired')}): {ca.subject.rfc4514_string()}, {_validity(ca, now)}")
        lines.append(f"  sha256 {pem.fingerprint(ca)}")
    return lines or ["CA: none"]


def _problems(state: State, now: datetime) -> list[str]:
    if state.leaf is None:
        return ["problem: there is no leaf to serve"]
    problems = verification.key_pair_problems(state.leaf, state.cas, now)
    return [f"problem: {each}" for each in problems] or ["no problem: clients that trust these CAs trust the leaf"]


def _upcoming(state: State, now: datetime, config: RotationConfig) -> list[str]:
    lines = [f"{action}: {'due' if at <= now else f'at {at:%FT%TZ}'}" for at, action in upcoming(state, config)]
    if state.next is not None and state.trusted_since is None:
        lines.append("switch: once every caBundle has the next CA")
    return lines


def _validity(certificate: x509.Certificate, now: datetime) -> str:
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now > end:
        return f"expired at {end:%FT%TZ}"
    if now < start:
        return f"not valid before {start:%FT%TZ}"
    return f"valid until {end:%FT%TZ}, {end - now} from now"
