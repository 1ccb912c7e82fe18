"""What can go wrong, drawn once:

    CertificatesError
    ├── InvalidNames      names that no certificate can carry; the message has all of them
    ├── InvalidPolicy     lifetimes that cannot go together; the message has every fault
    ├── Unreadable        PEM that is none
    └── StoreError
        ├── Conflict      somebody wrote since the read: read again
        └── Exists        somebody created it first: read it

What is wrong with a certificate is no exception but a value: `verify.Problem`.
"""

from collections.abc import Iterable


class CertificatesError(Exception):
    """Base of the tree above."""


class InvalidNames(CertificatesError):
    """Names that no certificate can carry."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; and ".join(self.faults))


class InvalidPolicy(CertificatesError):
    """Lifetimes that cannot go together."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; and ".join(self.faults))


class Unreadable(CertificatesError):
    """Not the PEM that is wanted. The message says what was seen, never the bytes: they may be a private key."""


class StoreError(CertificatesError):
    """A store refused a write; nothing was changed."""


class Conflict(StoreError):
    """What is stored is no longer the version that the writer read, or is gone."""


class Exists(StoreError):
    """There is something already where a first version was to be created."""
