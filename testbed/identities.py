"""Users of the API server: tokens and kubeconfig files.

`admin` is in `system:masters`. `system:serviceaccount:<namespace>:<name>` is a real service account with a real token,
created if missing. Any other user must be listed with its groups in `Options.users`.
"""

from __future__ import annotations

import base64
import csv
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from testbed.api import Api, ApiError, JsonObject
from testbed.paths import path

ADMIN = "admin"
SERVICE_ACCOUNT = "system:serviceaccount:"


def write_tokens(file: Path, users: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Writes the API server's token file for `admin` and `users` (name to groups). Returns the token of each."""
    groups = {ADMIN: ("system:masters",), **users}
    tokens = {user: secrets.token_hex(16) for user in groups}
    with file.open("w", newline="") as out:
        csv.writer(out).writerows((tokens[user], user, user, ",".join(groups[user])) for user in groups)
    return tokens


def service_account_token(api: Api, user: str, *, seconds: int = 3600) -> str:
    """A new token of a service account, which is created with its namespace if missing. `seconds` is at least 600."""
    namespace, _, name = user.removeprefix(SERVICE_ACCOUNT).partition(":")
    manifests: list[JsonObject] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}},
    ]
    for manifest in manifests:
        try:
            api.create(manifest)
        except ApiError as refusal:
            if refusal.reason != "AlreadyExists":
                raise
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds},
    }
    answer = api.post(path("ServiceAccount", namespace, name, "token"), request)
    return str(answer["status"]["token"])


def write_kubeconfig(file: Path, *, server: str, ca: Path, user: str, token: str) -> Path:
    """Writes a kubeconfig with inline credentials."""
    ca_data = base64.b64encode(ca.read_bytes()).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority-data": ca_data}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": user, "namespace": "default"}}],
        "current-context": "test",
    }
    file.write_text(yaml.safe_dump(config, sort_keys=False))
    return file
