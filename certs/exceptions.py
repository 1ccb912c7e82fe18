"""Exceptions of this package:

    CertificatesError
    ├── InvalidNames            names that a certificate cannot carry
    ├── InvalidRotationConfig   durations that are out of range or do not fit together
    └── UnreadablePEM           not a usable certificate or private key in PEM

Problems of a readable certificate are values, not exceptions: see `certs.verification`.
"""


class CertificatesError(Exception):
    """Holds every fault; the message joins them."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__("; and ".join(faults))


class InvalidNames(CertificatesError):
    """Names that a certificate cannot carry."""


class InvalidRotationConfig(CertificatesError):
    """Durations that are out of range or do not fit together."""


class UnreadablePEM(CertificatesError):
    """Not a usable certificate or private key in PEM. The message never contains the input: it may be a private key."""
