"""What is known about the world outside the store. Evidence holds a rotation back; it never hurries one on its own.

A look at one moment cannot prove that every API server and every replica has caught up: a watch may lag, a replica
may be starting. It can prove that one has not, however long ago the store was written: the renewer may have died
between writing the Secret and patching the webhook configuration.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509

from certs import pem


@dataclass(frozen=True, slots=True)
class Evidence:
    """None means: not looked at. Only the times in the state decide then."""

    bundles: Sequence[bytes] | None = None
    """The caBundle of each webhook as it stands in the configurations, PEM; empty where there is no configuration.
    Also where the authorities of a lost store are found again."""

    serving: Sequence[bytes] | None = None
    """The leaf that each replica serves, DER, as `ssl.SSLSocket.getpeercert(binary_form=True)` gives it."""

    settled: bool = False
    """An operator's word that every API server and every replica has what was last written. Stands for the
    propagation time of the policy, and does not outweigh the two above."""

    def lacking(self, authority: x509.Certificate) -> bool:
        """Whether some client is known not to trust `authority` yet."""
        return self.bundles is not None and not all(authority in pem.certificates(each)[0] for each in self.bundles)

    def published(self) -> tuple[x509.Certificate, ...]:
        """Every authority that some client trusts."""
        found = [certificate for bundle in self.bundles or () for certificate in pem.certificates(bundle)[0]]
        return tuple(dict.fromkeys(found))

    def served(self) -> tuple[x509.Certificate, ...]:
        """Every leaf that some replica is known to serve; what is no certificate is nobody's leaf."""
        leaves = (pem.from_der(each) for each in self.serving or ())
        return tuple(leaf for leaf in leaves if leaf is not None)


NOTHING_KNOWN = Evidence()
