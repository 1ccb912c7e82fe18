"""The state as the data of a Secret of type kubernetes.io/tls: entry name → bytes.

    tls.crt, tls.key             the leaf, as a server loads it
    ca.crt                       the bundle: every authority that clients must trust now
    ca.key                       the key of the authority in ca.crt that signs
    next-ca.crt, next-ca.key     the authority that will sign; while a change is under way
    state.json                   when the phases began

Whatever is missing, garbage or does not belong together is left out of the state, and named. An authority in ca.crt
whose key is not here counts as retired: it signs no more, and must stay trusted while its leaf is served.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509

from certs import pairs, pem
from certs.errors import Unreadable
from certs.pairs import Pair
from certs.state import State, bundle

LEAF, LEAF_KEY = "tls.crt", "tls.key"
BUNDLE, AUTHORITY_KEY = "ca.crt", "ca.key"
NEXT, NEXT_KEY = "next-ca.crt", "next-ca.key"
PHASES = "state.json"

ALL = (LEAF, LEAF_KEY, BUNDLE, AUTHORITY_KEY, NEXT, NEXT_KEY, PHASES)
PRIVATE = frozenset({LEAF_KEY, AUTHORITY_KEY, NEXT_KEY})
"""Entries that nobody but their owner may read. A server needs LEAF_KEY alone."""

TRUSTED_SINCE, SWITCHED_AT = "trustedSince", "switchedAt"


@dataclass(frozen=True, slots=True)
class Parsed:
    """What could be used, and a sentence for each entry that could not."""

    state: State
    faults: tuple[str, ...]


def ours(data: Mapping[str, bytes]) -> dict[str, bytes]:
    """The entries that are known here, those that are there."""
    return {name: data[name] for name in ALL if name in data}


def parse(data: Mapping[str, bytes]) -> Parsed:
    """The state that the entries hold. Never raises: an empty, half or wrong Secret is a state with parts missing."""
    faults: list[str] = []
    trusted, unreadable = pem.certificates(data.get(BUNDLE, b""))
    if unreadable:
        faults.append(f"{BUNDLE}: {unreadable} of its certificates cannot be read")
    leaf = _pair(data, LEAF, LEAF_KEY, faults)
    following = _pair(data, NEXT, NEXT_KEY, faults)
    current = _current(data, trusted, faults)
    since, switched = _phases(data.get(PHASES, b""), faults)
    if following is not None and following.certificate not in trusted:
        faults.append(f"{NEXT}: is not in {BUNDLE}, so it counts as not published")
        since = None
    signing = [pair.certificate for pair in (current, following) if pair is not None]
    retired = tuple(each for each in trusted if each not in signing)
    state = State(leaf, current, following, retired, since if following else None, switched if retired else None)
    return Parsed(state, tuple(faults))


def dump(state: State) -> dict[str, bytes]:
    """The entries of a state: `parse` gives it back, and equal states give equal bytes."""
    data = {BUNDLE: bundle(state), PHASES: _phases_text(state)}
    if state.leaf is not None:
        data |= {LEAF: pem.text((state.leaf.certificate, *state.leaf.chain)), LEAF_KEY: state.leaf.key}
    if state.current is not None:
        data |= {AUTHORITY_KEY: state.current.key}
    if state.next is not None:
        data |= {NEXT: pem.text((state.next.certificate,)), NEXT_KEY: state.next.key}
    return data


def _pair(data: Mapping[str, bytes], certificate: str, key: str, faults: list[str]) -> Pair | None:
    if certificate not in data and key not in data:
        return None
    try:
        return pairs.load(data.get(certificate, b""), data.get(key, b""))
    except Unreadable as fault:
        faults.append(f"{certificate} and {key}: {fault}")
        return None


def _current(data: Mapping[str, bytes], trusted: tuple[x509.Certificate, ...], faults: list[str]) -> Pair | None:
    """The authority in the bundle that `ca.key` belongs to; of several, which a renewed certificate for the same key
    makes, the one that lives longest."""
    if AUTHORITY_KEY not in data:
        return None
    try:
        public = pairs.signing_key(data[AUTHORITY_KEY]).public_key()
    except Unreadable as fault:
        faults.append(f"{AUTHORITY_KEY}: {fault}")
        return None
    owned = [each for each in trusted if pem.spki(each.public_key()) == pem.spki(public)]
    if not owned:
        faults.append(f"{AUTHORITY_KEY}: belongs to no certificate in {BUNDLE}")
        return None
    return Pair(max(owned, key=lambda each: each.not_valid_after_utc), data[AUTHORITY_KEY])


def _phases(text: bytes, faults: list[str]) -> tuple[datetime | None, datetime | None]:
    """A time that is not known is safe: the wait begins again."""
    if not text:
        return None, None
    try:
        found = json.loads(text)
        if not isinstance(found, dict):
            raise ValueError("no object")
        return _time(found.get(TRUSTED_SINCE)), _time(found.get(SWITCHED_AT))
    except (ValueError, RecursionError):
        faults.append(f"{PHASES}: cannot be read; want a JSON object with the times {TRUSTED_SINCE} and {SWITCHED_AT}")
        return None, None


def _time(value: object) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError("no time")
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError("no time zone")
    return moment.astimezone(UTC)


def _phases_text(state: State) -> bytes:
    moments = {TRUSTED_SINCE: state.trusted_since, SWITCHED_AT: state.switched_at}
    known = {name: moment.astimezone(UTC).isoformat() for name, moment in moments.items() if moment is not None}
    return json.dumps(known, sort_keys=True).encode()
