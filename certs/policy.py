"""How long certificates live, and how long news takes. Wrong combinations do not start.

A leaf is renewed at 2/3 of its life. The last third has to hold the longest time between two looks of the renewer and
the time until the last server serves the new leaf. An authority is renewed at 2/3 of its life too, and at the latest
two leaf lifetimes before its end: the overlap then fits, and no leaf has to be cut short by the end of its authority.
Fractions, because a fixed look-ahead that is longer than the certificate renews for ever.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509

from certs.errors import InvalidPolicy
from certs.mint import BACKDATE

LEAF_PER_PROPAGATION = 6
"""A third of a leaf's life holds the propagation, and a pause of the renewer that is as long."""

AUTHORITY_PER_LEAF = 3
"""An authority that is new when its predecessor's overlap begins must not be due before that overlap ends."""

SHORTEST = timedelta(seconds=1)
LONGEST = timedelta(days=36500)


@dataclass(frozen=True, slots=True)
class Policy:
    """Raises InvalidPolicy, naming every fault, where the three cannot go together."""

    authority_lifetime: timedelta = timedelta(days=365)
    """Of a CA, from the moment that it is made."""

    leaf_lifetime: timedelta = timedelta(days=30)
    """Of a serving certificate, from the moment that it is made."""

    propagation: timedelta = timedelta(minutes=10)
    """The longest time until what was written reaches everyone: the Secret every replica's mount (kubelet's sync
    period of a minute and its cache), the caBundle every API server. Also the wait between two phases of a rotation,
    so it includes how far the clocks of two renewers may be apart."""

    def __post_init__(self) -> None:
        faults = [*self._out_of_range(), *self._too_close()]
        if faults:
            raise InvalidPolicy(faults)

    def _out_of_range(self) -> list[str]:
        lengths = {
            "authority lifetime": self.authority_lifetime,
            "leaf lifetime": self.leaf_lifetime,
            "propagation": self.propagation,
        }
        return [
            f"{name}: {length}; want {SHORTEST} to {LONGEST}"
            for name, length in lengths.items()
            if not SHORTEST <= length <= LONGEST
        ]

    def _too_close(self) -> list[str]:
        faults = []
        if self.leaf_lifetime < LEAF_PER_PROPAGATION * self.propagation:
            faults.append(
                f"leaf lifetime: {self.leaf_lifetime} with a propagation of {self.propagation}; want at least "
                f"{LEAF_PER_PROPAGATION} times the propagation, or a renewed leaf arrives after the old one expired; "
                f"make the leaf lifetime {LEAF_PER_PROPAGATION * self.propagation} or more"
            )
        if self.authority_lifetime < AUTHORITY_PER_LEAF * self.leaf_lifetime:
            faults.append(
                f"authority lifetime: {self.authority_lifetime} with a leaf lifetime of {self.leaf_lifetime}; want at "
                f"least {AUTHORITY_PER_LEAF} times the leaf lifetime, or a rotation has no room for its overlap; "
                f"make the authority lifetime {AUTHORITY_PER_LEAF * self.leaf_lifetime} or more"
            )
        return faults

    def leaf_due(self, leaf: x509.Certificate) -> datetime:
        """When a leaf is to be renewed: 2/3 of its own life, whatever the policy was when it was made."""
        return _two_thirds(leaf)

    def authority_due(self, authority: x509.Certificate) -> datetime:
        """When an authority is to be renewed."""
        return min(_two_thirds(authority), authority.not_valid_after_utc - 2 * self.leaf_lifetime)


def _two_thirds(certificate: x509.Certificate) -> datetime:
    """2/3 of the life, which begins BACKDATE after `notBefore`. A stranger's certificate may not be back-dated, and
    may be shorter than that: then its end."""
    end = certificate.not_valid_after_utc
    life = end - certificate.not_valid_before_utc - BACKDATE
    return end - max(life, timedelta(0)) / 3
