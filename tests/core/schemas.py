"""Kubernetes' own schemas, strict: a member that they do not know is an error."""

import re

import kubernetes_validate

from tests.core.builders import Json

VERSIONS = ("1.34", "1.37")
"""The first version that serves resource.k8s.io/v1, and the newest with a schema."""

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A DNS label (RFC 1123), as metadata.name and a claim's alias are checked."""


def assert_valid(document: Json) -> None:
    """The object is what an API server of each version takes."""
    for version in VERSIONS:
        kubernetes_validate.validate(document, version, strict=True)


def assert_label(name: object) -> None:
    assert isinstance(name, str)
    assert LABEL.fullmatch(name), name
