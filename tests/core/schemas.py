"""Validation by Kubernetes' own schemas, in strict mode: an unknown member is an error."""

import re

import kubernetes_validate

from tests.core.builders import Json

VERSIONS = ("1.34", "1.37")
"""The first version that serves resource.k8s.io/v1, and the newest with a schema."""


def assert_valid(document: Json) -> None:
    """An API server of each version accepts the object."""
    for version in VERSIONS:
        kubernetes_validate.validate(document, version, strict=True)


def assert_label(name: object) -> None:
    """The name is a DNS label (RFC 1123)."""
    assert isinstance(name, str)
    assert re.fullmatch("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name), name
