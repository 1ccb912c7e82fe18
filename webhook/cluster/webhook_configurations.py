"""A webhook configuration, as far as trust goes: which authorities the API server checks each of our webhooks against.

Read whole, and patched webhook by webhook, by name: its other webhooks, their order, and all else in it are others'.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from webhook import constants
from webhook.cluster.api import STRATEGIC_PATCH, Api, JsonObject, path
from webhook.cluster.api_errors import ApiError, ErrorReason

GROUP_VERSION = "admissionregistration.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Trust:
    """What a configuration said when it was read."""

    version: str
    """Its resource version."""

    bundles: Mapping[str, bytes]
    """Name of each webhook of ours → its `caBundle`; empty where it has none, or one that is no base64."""

    def without(self, bundle: bytes) -> list[str]:
        """The names of those that have another bundle."""
        return [name for name, held in self.bundles.items() if held != bundle]


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
        except ApiError as failure:
            if failure.reason is not ErrorReason.NOT_FOUND:
                raise
            return None
        return _trust(found)

    def publish(self, seen: Trust, bundle: bytes) -> Trust:
        """Makes `bundle` that of every webhook of ours; what the configuration says then. Raises Failure, Kind.CONFLICT
        where it changed since it was `seen`: so nobody goes back to an older bundle."""
        text = base64.b64encode(bundle).decode()
        # Merged by name, whatever their order. A webhook that has gone is not made anew: the version is another then.
        change = {
            "metadata": {"resourceVersion": seen.version},
            "webhooks": [{"name": name, "clientConfig": {"caBundle": text}} for name in seen.without(bundle)],
        }
        return _trust(self.api.call("PATCH", self._path, body=change, content_type=STRATEGIC_PATCH))

    @property
    def _path(self) -> str:
        return path(GROUP_VERSION, f"{self.kind}webhookconfigurations", None, self.name)


def _trust(configuration: JsonObject) -> Trust:
    metadata, webhooks = configuration.get("metadata"), configuration.get("webhooks")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    hooks = [each for each in webhooks if isinstance(each, dict)] if isinstance(webhooks, list) else []
    ours = {name: hook for hook in hooks if (name := str(hook.get("name"))).endswith(constants.WEBHOOK_NAMES)}
    return Trust(str(version), {name: _bundle(hook) for name, hook in ours.items()})


def _bundle(hook: JsonObject) -> bytes:
    client = hook.get("clientConfig")
    text = client.get("caBundle") if isinstance(client, dict) else None
    try:
        return base64.b64decode(text) if isinstance(text, str) else b""
    except binascii.Error:
        return b""
