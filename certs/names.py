"""The names of a serving certificate: DNS names and IP addresses, as they stand in its subjectAltName.

A client checks nothing else: Go and Python have ignored the common name for years, so a name that is missing here
is an `x509: certificate is not valid for any names`.
"""

import ipaddress
import re
from collections.abc import Iterable

from cryptography import x509

from certs.errors import InvalidNames

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
MAX_DNS_NAME = 253
MAX_COMMON_NAME = 64
"""Characters of a common name: `ub-common-name` of RFC 5280. A service name with its namespace may have 131."""

FALLBACK_COMMON_NAME = "modelfit webhook"
"""Where no name fits. Not a DNS name, so nobody takes it for one."""


def normal(name: str) -> str:
    """A name as it is compared: a DNS name in lower case, an IP address in its canonical text."""
    address = _address(name)
    return name.lower() if address is None else str(address)


def general_names(names: Iterable[str]) -> list[x509.GeneralName]:
    """The names for a subjectAltName, in the order given, each once. Raises InvalidNames with every fault."""
    wanted = list(dict.fromkeys(normal(name) for name in names))
    faults = [fault for name in wanted if (fault := _fault(name))]
    if not wanted:
        faults = ["names: there is none; want at least one DNS name or IP address that clients connect to"]
    if faults:
        raise InvalidNames(faults)
    return [x509.DNSName(name) if (address := _address(name)) is None else x509.IPAddress(address) for name in wanted]


def common_name(names: Iterable[str]) -> str:
    """The first name that a common name can hold; people read it, clients do not."""
    return next((name for name in map(normal, names) if len(name) <= MAX_COMMON_NAME), FALLBACK_COMMON_NAME)


def of(certificate: x509.Certificate) -> frozenset[str]:
    """The names that a certificate carries, normal; empty where it has no subjectAltName."""
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return frozenset()
    hosts = extension.value.get_values_for_type(x509.DNSName)
    return frozenset(map(normal, hosts)) | {str(each) for each in extension.value.get_values_for_type(x509.IPAddress)}


def missing(certificate: x509.Certificate, names: Iterable[str]) -> list[str]:
    """Those of `names` that the certificate does not answer for. A wildcard stands for exactly one label."""
    carried = of(certificate)
    return [name for name in map(normal, names) if name not in carried and not _by_wildcard(name, carried)]


def _by_wildcard(name: str, carried: frozenset[str]) -> bool:
    _, dot, parent = name.partition(".")
    return bool(dot) and _address(name) is None and f"*.{parent}" in carried


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _fault(name: str) -> str | None:
    if _address(name) is not None:
        return None
    labels = name.split(".")
    good = all(LABEL.fullmatch(label) for label in labels) and not labels[-1].isdigit()
    if good and len(name) <= MAX_DNS_NAME:
        return None
    return (
        f"names: {name[:MAX_COMMON_NAME]!a} is no DNS name; want labels of 1 to 63 of a-z, 0-9 and - with dots "
        f"between, {MAX_DNS_NAME} characters at most, or an IP address"
    )
