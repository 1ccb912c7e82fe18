"""What the store holds, as a value: one leaf, the authority that signs, and who else is trusted meanwhile.

      current                 the usual state: one authority, its leaf
      current, next           published: clients learn to trust the next one before it signs anything
      current, retired        switched: the next one signs now; servers may still have a leaf of the old one
      current                 retired: nobody serves one any more

`retired` also has authorities whose key is lost: they cannot sign, and must stay trusted while their leaf is served.
"""

from dataclasses import dataclass
from datetime import datetime

from cryptography import x509

from certs import pem
from certs.pairs import Pair


@dataclass(frozen=True, slots=True)
class State:
    """Everything may be missing: a store can be empty or half. Times are aware."""

    leaf: Pair | None = None
    """What servers serve."""

    current: Pair | None = None
    """The authority that signs leaves."""

    next: Pair | None = None
    """The authority that will; in the bundle already."""

    retired: tuple[x509.Certificate, ...] = ()
    """Authorities that sign no more; still in the bundle."""

    trusted_since: datetime | None = None
    """When `next` is first known to be where clients look; None: not known to be."""

    switched_at: datetime | None = None
    """When the last of `retired` signed no more; None: not known."""

    def authorities(self) -> tuple[x509.Certificate, ...]:
        """Everyone who is trusted, who signs first, each once."""
        pairs = [pair.certificate for pair in (self.current, self.next) if pair is not None]
        return tuple(dict.fromkeys([*pairs, *self.retired]))


def bundle(state: State) -> bytes:
    """The caBundle: PEM of every authority that a client must trust now. Equal states, equal bytes."""
    return pem.text(state.authorities())
