"""Reads and replaces the data of one Secret, with optimistic locking.

Other data keys, labels and annotations stay as they are. Needs `get` and `update` on this Secret, and `create` if it
does not exist.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

from certs import secret_data
from webhook import json_tree
from webhook.cluster.api import Api, path
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.json_tree import JsonObject


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """A Secret as it was read."""

    data: Mapping[str, bytes] = field(repr=False)
    manifest: JsonObject = field(repr=False)


@dataclass(frozen=True, slots=True)
class SecretStore:
    """The Secret of that name. Methods raise ApiError."""

    api: Api
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"Secret {self.namespace}/{self.name}"

    def read(self) -> StoredSecret | None:
        """None if the Secret does not exist."""
        try:
            manifest = self.api.call("GET", path("v1", "secrets", self.namespace, self.name))
        except ApiError as error:
            if error.reason is not ErrorReason.NOT_FOUND:
                raise
            return None
        data = json_tree.get_object(manifest, "data")
        # A null value is an empty one.
        try:
            decoded = {key: base64.b64decode(str(value or "")) for key, value in data.items()}
        except ValueError:
            raise ApiError(ErrorReason.UNEXPECTED, f"{self}: data that is not base64") from None
        return StoredSecret(decoded, manifest)

    def write(self, data: Mapping[str, bytes], stored: StoredSecret | None) -> None:
        """Replaces the keys in `certs.secret_data.KEYS`; those not in `data` are removed. None creates the Secret.

        Raises ApiError with CONFLICT if the Secret has changed since `stored` was read, also by creation or deletion.
        """
        try:
            if stored is None:
                self._create(data)
            else:
                others = {key: value for key, value in stored.data.items() if key not in secret_data.KEYS}
                # `stored.manifest` contains the resource version.
                body = {**stored.manifest, "data": _encode({**others, **data})}
                self.api.call("PUT", path("v1", "secrets", self.namespace, self.name), body=body)
        except ApiError as error:
            if error.reason in (ErrorReason.ALREADY_EXISTS, ErrorReason.NOT_FOUND):
                raise ApiError(ErrorReason.CONFLICT, f"{self}: created or deleted meanwhile", error.status) from error
            raise

    def _create(self, data: Mapping[str, bytes]) -> None:
        metadata = {"namespace": self.namespace, "name": self.name}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": _encode(data)}
        try:
            self.api.call("POST", path("v1", "secrets", self.namespace), body=body)
        except ApiError as error:
            message = f"{self} does not exist and cannot be created: {error.message}"
            raise ApiError(error.reason, message, error.status, error.headers) from error


def _encode(data: Mapping[str, bytes]) -> dict[str, str]:
    return {key: base64.b64encode(value).decode() for key, value in data.items()}
