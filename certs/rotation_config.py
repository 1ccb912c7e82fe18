"""How long certificates live, and how long a change takes to arrive everywhere."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509

from certs.exceptions import InvalidRotationConfig
from certs.issuing import BACKDATE

MIN_LEAF_PROPAGATIONS = 6
"""The last third of a leaf's life holds the propagation and a pause of the reconciler that is as long."""

MIN_CA_LEAVES = 3
"""A CA that is new when its predecessor's overlap begins must not be due before that overlap ends."""

MIN_DURATION = timedelta(seconds=1)
MAX_DURATION = timedelta(days=36500)


@dataclass(frozen=True, slots=True)
class RotationConfig:
    """Durations of a rotation. Raises InvalidRotationConfig with every fault."""

    ca_lifetime: timedelta = timedelta(days=365)

    leaf_lifetime: timedelta = timedelta(days=30)

    propagation: timedelta = timedelta(minutes=10)
    """The longest time until a change is in use everywhere: the Secret in every replica's mount (the kubelet's sync
    period of a minute and its cache), the caBundle in every API server. Also the wait between two phases of a rotation,
    so it includes the difference between the clocks of two controllers."""

    def __post_init__(self) -> None:
        durations = {
            "CA lifetime": self.ca_lifetime,
            "leaf lifetime": self.leaf_lifetime,
            "propagation": self.propagation,
        }
        faults = [
            f"{name}: {value}; want {MIN_DURATION} to {MAX_DURATION}"
            for name, value in durations.items()
            if not MIN_DURATION <= value <= MAX_DURATION
        ]
        min_leaf, min_ca = MIN_LEAF_PROPAGATIONS * self.propagation, MIN_CA_LEAVES * self.leaf_lifetime
        if self.leaf_lifetime < min_leaf:
            faults.append(
                f"leaf lifetime: {self.leaf_lifetime} with a propagation of {self.propagation}; want at least "
                f"{MIN_LEAF_PROPAGATIONS} times the propagation, or a renewed leaf arrives after the old one expired; "
                f"make the leaf lifetime {min_leaf} or more"
            )
        if self.ca_lifetime < min_ca:
            faults.append(
                f"CA lifetime: {self.ca_lifetime} with a leaf lifetime of {self.leaf_lifetime}; want at least "
                f"{MIN_CA_LEAVES} times the leaf lifetime, or a rotation has no room for its overlap; "
                f"make the CA lifetime {min_ca} or more"
            )
        if faults:
            raise InvalidRotationConfig(*faults)

    def leaf_due(self, leaf: x509.Certificate) -> datetime:
        """When a leaf is to be renewed: at 2/3 of its own life, whatever the configured lifetime.

        A fraction, because a fixed period that is longer than the certificate's life would renew without end.
        """
        return _two_thirds(leaf)

    def ca_due(self, ca: x509.Certificate) -> datetime:
        """When a CA is to be renewed: at 2/3 of its life, and at the latest two leaf lifetimes before its end. The
        overlap then fits, and no leaf is cut short by the end of its CA."""
        return min(_two_thirds(ca), ca.not_valid_after_utc - 2 * self.leaf_lifetime)


def _two_thirds(certificate: x509.Certificate) -> datetime:
    """2/3 of the life, which begins BACKDATE after `notBefore`; the end of a foreign certificate that is shorter."""
    end = certificate.not_valid_after_utc
    life = end - certificate.not_valid_before_utc - BACKDATE
    return end - max(life, timedelta(0)) / 3
