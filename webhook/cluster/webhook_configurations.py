"""The caBundles of a webhook configuration: which CAs the API server trusts for each of modelfit's webhooks.

Patches are made by webhook name. Other webhooks, the order, and all other fields stay as they are.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from webhook import constants, json_tree
from webhook.cluster.api import STRATEGIC_PATCH, Api, path
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.json_tree import JsonObject

GROUP_VERSION = "admissionregistration.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class CABundles:
    """The caBundles of a configuration at one resource version."""

    resource_version: str

    by_webhook: Mapping[str, bytes]
    """Name of each of modelfit's webhooks → its caBundle; empty if absent or not base64."""

    def stale(self, bundle: bytes) -> list[str]:
        """The names of the webhooks that have another bundle."""
        return [name for name, current in self.by_webhook.items() if current != bundle]


@dataclass(frozen=True, slots=True)
class WebhookConfiguration:
    """A MutatingWebhookConfiguration or ValidatingWebhookConfiguration. Methods raise ApiError."""

    api: Api
    kind: Literal["mutating", "validating"]
    name: str

    def __str__(self) -> str:
        return f"{self.kind.title()}WebhookConfiguration {self.name}"

    def read(self) -> CABundles | None:
        """None if the configuration does not exist."""
        try:
            return _ca_bundles(self.api.call("GET", self._path))
        except ApiError as error:
            if error.reason is not ErrorReason.NOT_FOUND:
                raise
            return None

    def publish(self, current: CABundles, bundle: bytes) -> CABundles:
        """Sets `bundle` on every webhook of modelfit. Raises ApiError with CONFLICT if the configuration has changed
        since `current` was read, so that an older bundle never replaces a newer one."""
        text = base64.b64encode(bundle).decode()
        # A strategic merge patch merges by name. The resource version keeps it from adding a webhook that was removed
        # after the configuration was read.
        patch = {
            "metadata": {"resourceVersion": current.resource_version},
            "webhooks": [{"name": name, "clientConfig": {"caBundle": text}} for name in current.stale(bundle)],
        }
        return _ca_bundles(self.api.call("PATCH", self._path, body=patch, content_type=STRATEGIC_PATCH))

    @property
    def _path(self) -> str:
        return path(GROUP_VERSION, f"{self.kind}webhookconfigurations", None, self.name)


def _ca_bundles(configuration: JsonObject) -> CABundles:
    resource_version = json_tree.get_text(configuration, "metadata", "resourceVersion") or ""
    webhooks = {json_tree.get_text(each, "name") or "": each for each in json_tree.get_list(configuration, "webhooks")}
    ours = {name: _decode(each) for name, each in webhooks.items() if name.endswith(constants.WEBHOOK_NAME_SUFFIX)}
    return CABundles(resource_version, ours)


def _decode(webhook: object) -> bytes:
    try:
        return base64.b64decode(json_tree.get_text(webhook, "clientConfig", "caBundle") or "")
    except ValueError:
        return b""
