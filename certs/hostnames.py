"""The names of a server certificate: DNS names and IP addresses in its subjectAltName.

Clients match no other names: Go and Python ignore the common name.
"""

import ipaddress
from collections.abc import Iterable

from cryptography import x509

from certs.exceptions import InvalidNames
from webhook import dns_names

MAX_COMMON_NAME = 64
"""Characters: `ub-common-name` of RFC 5280. A Service name with its namespace can have 131."""

FALLBACK_COMMON_NAME = "modelfit webhook"
"""Common name if no name is short enough. Not a DNS name."""


def normalize(name: str) -> str:
    """The form in which names are compared: a DNS name in lower case, an IP address in its canonical text."""
    address = parse_address(name)
    return name.lower() if address is None else str(address)


def parse_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address; None if `name` is not one."""
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def to_general_name(name: str) -> x509.DNSName | x509.IPAddress:
    """The name as subjectAltName holds it. Raises ValueError for a DNS name that is not ASCII."""
    address = parse_address(name)
    return x509.DNSName(name) if address is None else x509.IPAddress(address)


def general_names(names: Iterable[str]) -> list[x509.DNSName | x509.IPAddress]:
    """The names for a subjectAltName, in the order given, without duplicates. Raises InvalidNames with every fault."""
    unique = list(dict.fromkeys(map(normalize, names)))
    if not unique:
        raise InvalidNames("names: none; want at least one DNS name or IP address that clients connect to")
    if faults := [fault for name in unique if (fault := _fault(name))]:
        raise InvalidNames(*faults)
    return list(map(to_general_name, unique))


def common_name(names: Iterable[str]) -> str:
    """The first name that fits into a common name. For readers of the certificate; clients ignore it."""
    return next((name for name in map(normalize, names) if len(name) <= MAX_COMMON_NAME), FALLBACK_COMMON_NAME)


def on_certificate(certificate: x509.Certificate) -> frozenset[str]:
    """The normalized names of a certificate; empty without a subjectAltName."""
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return frozenset()
    names = extension.value
    hosts = [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))]
    return frozenset(map(normalize, hosts))


def missing(certificate: x509.Certificate, names: Iterable[str]) -> list[str]:
    """Those of `names` that the certificate does not cover. A wildcard covers exactly one label."""
    present = on_certificate(certificate)
    return [name for name in map(normalize, names) if name not in present and _wildcard(name) not in present]


def _wildcard(name: str) -> str:
    """The wildcard that covers a DNS name; empty if none does."""
    _, dot, parent = name.partition(".")
    return f"*.{parent}" if dot and parse_address(name) is None else ""


def _fault(name: str) -> str | None:
    # A last label of digits alone would be read as an IPv4 address.
    if parse_address(name) is not None or (dns_names.is_subdomain(name) and not name.rpartition(".")[2].isdigit()):
        return None
    return (
        f"names: {name[:MAX_COMMON_NAME]!a} is not a DNS name; want labels of 1 to {dns_names.MAX_LABEL} of a-z, 0-9 "
        f"and - with dots between, {dns_names.MAX_SUBDOMAIN} characters at most, or an IP address"
    )
