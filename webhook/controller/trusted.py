"""Whether the API server trusts what the webhook serves, as far as both are seen. Pure; the time is a parameter."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from certs import entries, verify


@dataclass(frozen=True, slots=True)
class Seen:
    """The Secret's entries, and the `caBundle` (PEM) of each webhook by what it is called."""

    data: Mapping[str, bytes] = field(repr=False)
    bundles: Mapping[str, bytes]


def shortcomings(seen: Seen, names: Collection[str], now: datetime) -> list[str]:
    """What is wrong with the Secret; or, where nothing is, with what each webhook's caBundle makes of it."""
    chain, key = seen.data.get(entries.LEAF, b""), seen.data.get(entries.LEAF_KEY, b"")
    own = verify.problems(seen.data.get(entries.BUNDLE, b""), chain, key, names, now)
    if own:
        return [str(problem) for problem in own]
    return [
        f"{where}: {problem}"
        for where, bundle in seen.bundles.items()
        for problem in verify.problems(bundle, chain, key, names, now)
    ]
