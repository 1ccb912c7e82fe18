"""Grants permissions to the users of a control plane."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.api import Api, JsonObject
from testbed.identities import SERVICE_ACCOUNT


def grant(api: Api, user: str, rules: Sequence[JsonObject], *, name: str = "granted-by-test") -> None:
    """Creates a ClusterRole `name` with these rules and binds it to `user`, which may be a service account."""
    group = "rbac.authorization.k8s.io"
    metadata = {"name": name}
    api.create(
        {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": [dict(r) for r in rules]}
    )
    if user.startswith(SERVICE_ACCOUNT):
        namespace, _, account = user.removeprefix(SERVICE_ACCOUNT).partition(":")
        subject = {"kind": "ServiceAccount", "namespace": namespace, "name": account}
    else:
        subject = {"kind": "User", "apiGroup": group, "name": user}
    api.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [subject],
        }
    )
