"""The state of a rotation, and its form as the data of a Secret of type kubernetes.io/tls: key → bytes.

    tls.crt, tls.key             the leaf, as a server loads it
    ca.crt                       the bundle: every CA that clients must trust now
    ca.key                       the key of the CA in ca.crt that signs
    next-ca.crt, next-ca.key     during a rotation, the CA that will sign
    state.json                   when the phases of a rotation began

Data that is missing, damaged or does not match is left out of the state and reported as a fault. A CA in ca.crt whose
key is missing counts as retired: it cannot sign, and must stay trusted while its leaf is served.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509

from certs import pem
from certs.exceptions import UnreadablePEM
from certs.pem import KeyPair

LEAF, LEAF_KEY = "tls.crt", "tls.key"
BUNDLE, CA_KEY = "ca.crt", "ca.key"
NEXT_CA, NEXT_CA_KEY = "next-ca.crt", "next-ca.key"
PHASES = "state.json"

KEYS = (LEAF, LEAF_KEY, BUNDLE, CA_KEY, NEXT_CA, NEXT_CA_KEY, PHASES)
PRIVATE_KEYS = frozenset({LEAF_KEY, CA_KEY, NEXT_CA_KEY})
"""A server needs LEAF_KEY only."""

_TRUSTED_SINCE, _SWITCHED_AT = "trustedSince", "switchedAt"
_MAX_YEAR = 9000


@dataclass(frozen=True, slots=True)
class State:
    """The phases of a rotation. Everything can be missing; times are aware.

    current                 no rotation: one CA, its leaf
    current, next           the next CA is in the bundle and signs nothing yet
    current, retired        the next CA has become the current one; servers may still have a leaf of the retired one
    current                 the retired CA has left the bundle
    """

    leaf: KeyPair | None = None

    current: KeyPair | None = None
    """The CA that signs leaves."""

    next: KeyPair | None = None
    """The CA that will sign leaves."""

    retired: tuple[x509.Certificate, ...] = ()
    """CAs that do not sign any more, or whose key is lost; still in the bundle."""

    trusted_since: datetime | None = None
    """When `next` was first seen in every caBundle; None if not known."""

    switched_at: datetime | None = None
    """When the last of `retired` stopped signing; None if not known."""

    @property
    def cas(self) -> tuple[x509.Certificate, ...]:
        """Every CA that clients must trust: current, next, retired."""
        signing = [pair.certificate for pair in (self.current, self.next) if pair is not None]
        return tuple(dict.fromkeys([*signing, *self.retired]))

    @property
    def bundle(self) -> bytes:
        """The caBundle: `cas` as PEM. Equal states give equal bytes."""
        return pem.dump_certificates(self.cas)


def select(data: Mapping[str, bytes]) -> dict[str, bytes]:
    """The part of `data` that belongs to the state."""
    return {key: data[key] for key in KEYS if key in data}


def parse(data: Mapping[str, bytes]) -> tuple[State, list[str]]:
    """The state in `data`, and the faults of what cannot be used. Never raises."""
    faults: list[str] = []
    trusted, unreadable = pem.load_certificates(data.get(BUNDLE, b""))
    if unreadable:
        faults.append(f"{BUNDLE}: {unreadable} of its certificates cannot be read")
    leaf = _parse_key_pair(data, LEAF, LEAF_KEY, faults)
    next_ca = _parse_key_pair(data, NEXT_CA, NEXT_CA_KEY, faults)
    current = _parse_current(data, trusted, faults)
    trusted_since, switched_at = _parse_phases(data.get(PHASES, b""), faults)
    if next_ca is not None and next_ca.certificate not in trusted:
        faults.append(f"{NEXT_CA}: is not in {BUNDLE}, so it counts as not published")
        trusted_since = None
    signing = [pair.certificate for pair in (current, next_ca) if pair is not None]
    retired = tuple(each for each in trusted if each not in signing)
    state = State(leaf, current, next_ca, retired, trusted_since if next_ca else None, switched_at if retired else None)
    return state, faults


def dump(state: State) -> dict[str, bytes]:
    """The data of a state, which `parse` accepts without faults. Equal states give equal bytes."""
    times = {_TRUSTED_SINCE: state.trusted_since, _SWITCHED_AT: state.switched_at}
    known = {name: time.astimezone(UTC).isoformat() for name, time in times.items() if time is not None}
    data = {BUNDLE: state.bundle, PHASES: json.dumps(known, sort_keys=True).encode()}
    if state.leaf is not None:
        chain = pem.dump_certificates((state.leaf.certificate, *state.leaf.chain))
        data |= {LEAF: chain, LEAF_KEY: state.leaf.key}
    if state.current is not None:
        data |= {CA_KEY: state.current.key}
    if state.next is not None:
        data |= {NEXT_CA: pem.dump_certificates((state.next.certificate,)), NEXT_CA_KEY: state.next.key}
    return data


def _parse_key_pair(data: Mapping[str, bytes], certificate: str, key: str, faults: list[str]) -> KeyPair | None:
    if certificate not in data and key not in data:
        return None
    try:
        return pem.load_key_pair(data.get(certificate, b""), data.get(key, b""))
    except UnreadablePEM as error:
        faults.append(f"{certificate} and {key}: {error}")
        return None


def _parse_current(
    data: Mapping[str, bytes], trusted: tuple[x509.Certificate, ...], faults: list[str]
) -> KeyPair | None:
    """The CA that CA_KEY belongs to. A CA renewed with the same key has several certificates: the last to expire."""
    if CA_KEY not in data:
        return None
    try:
        public_key = pem.load_private_key(data[CA_KEY]).public_key()
    except UnreadablePEM as error:
        faults.append(f"{CA_KEY}: {error}")
        return None
    owned = [each for each in trusted if pem.is_key_of(public_key, each)]
    if not owned:
        faults.append(f"{CA_KEY}: belongs to no certificate in {BUNDLE}")
        return None
    return KeyPair(max(owned, key=lambda each: each.not_valid_after_utc), data[CA_KEY])


def _parse_phases(text: bytes, faults: list[str]) -> tuple[datetime | None, datetime | None]:
    """Unknown times are safe: the wait begins again."""
    if not text:
        return None, None
    try:
        phases = json.loads(text)
        if not isinstance(phases, dict):
            raise TypeError
        return _parse_time(phases.get(_TRUSTED_SINCE)), _parse_time(phases.get(_SWITCHED_AT))
    except (ValueError, TypeError, RecursionError, OverflowError):
        want = f"want a JSON object with the times {_TRUSTED_SINCE} and {_SWITCHED_AT}"
        faults.append(f"{PHASES}: cannot be read; {want}")
        return None, None


def _parse_time(value: str | None) -> datetime | None:
    if value is None:
        return None
    time = datetime.fromisoformat(value)
    # A propagation time can be added to it.
    if time.tzinfo is None or time.year > _MAX_YEAR:
        raise ValueError
    return time.astimezone(UTC)
