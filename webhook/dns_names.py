"""DNS labels and subdomains as Kubernetes defines them (RFC 1123): names of objects, namespaces and hosts."""

import re

MAX_LABEL = 63
MAX_SUBDOMAIN = 253
"""Characters."""

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
"""Regular expressions for a whole text, without the limits on length."""

_LABEL = re.compile(LABEL)


def is_label(text: str) -> bool:
    """Whether `text` is a DNS label of at most 63 characters."""
    return len(text) <= MAX_LABEL and _LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Whether `text` is DNS labels joined by dots, of at most 253 characters in all."""
    return len(text) <= MAX_SUBDOMAIN and all(map(is_label, text.split(".")))
