"""A webhook configuration, as far as trust goes: which authorities the API server checks each of our webhooks against.

Read whole, and patched webhook by webhook, by name: its other webhooks, their order, and all else in it are others'.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from webhook import vocabulary
from webhook.cluster.api import STRATEGIC_PATCH, Api, JsonObject, path
from webhook.cluster.failures import Failure, Kind

GROUP_VERSION = "admissionregistration.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Trust:
    """What a configuration said when it was read."""

    version: str
    """Its resource version."""

    bundles: Mapping[str, bytes]
    """Name of each webhook of ours → its `caBundle`; empty where it has none, or one that is no base64."""


@dataclass(frozen=True, slots=True)
class WebhookConfiguration:
    """The `mutating` or `validating` configuration of that name. Raises Failure."""

    api: Api
    kind: Literal["mutating", "validating"]
    name: str

    def __str__(self) -> str:
        return f"{self.kind.title()}WebhookConfiguration {self.name}"

    def read(self) -> Trust | None:
        """None where it does not exist."""
        try:
            found = self.api.call("GET", self._path)
        except Failure as failure:
            if failure.kind is not Kind.NOT_FOUND:
                raise
            return None
        metadata, webhooks = found.get("metadata"), found.get("webhooks")
        version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
        hooks = [each for each in webhooks if isinstance(each, dict)] if isinstance(webhooks, list) else []
        names = {str(hook.get("name")): hook for hook in hooks}
        ours = {name: hook for name, hook in names.items() if name.endswith(vocabulary.WEBHOOK_NAMES)}
        return Trust(str(version), {name: _bundle(hook) for name, hook in ours.items()})

    def publish(self, seen: Trust, bundle: bytes) -> list[str]:
        """Makes `bundle` that of every webhook of ours. The names of those that had another one. Raises Failure,
        Kind.CONFLICT where the configuration changed since it was `seen`: so nobody goes back to an older bundle."""
        stale = [name for name, held in seen.bundles.items() if held != bundle]
        if not stale:
            return []
        text = base64.b64encode(bundle).decode()
        # Merged by name, whatever their order. A webhook that has gone is not made anew: the version is another then.
        change = {
            "metadata": {"resourceVersion": seen.version},
            "webhooks": [{"name": name, "clientConfig": {"caBundle": text}} for name in stale],
        }
        self.api.call("PATCH", self._path, body=change, content_type=STRATEGIC_PATCH)
        return stale

    @property
    def _path(self) -> str:
        return path(GROUP_VERSION, f"{self.kind}webhookconfigurations", None, self.name)


def _bundle(hook: JsonObject) -> bytes:
    client = hook.get("clientConfig")
    text = client.get("caBundle") if isinstance(client, dict) else None
    try:
        return base64.b64decode(text) if isinstance(text, str) else b""
    except binascii.Error:
        return b""
