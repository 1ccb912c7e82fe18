"""One Secret as a store of certificates: read whole, written whole, and only over what was read.

Others' entries, labels and annotations in it are kept. Nothing else of it is changed, so it needs `get` and `update` on
that one name, and `create` only where nobody has made it.
"""

import base64
from collections.abc import Mapping

from certs import entries
from certs.errors import Conflict, Exists
from certs.store import Stored
from webhook.cluster.api import Api, JsonObject, path
from webhook.cluster.api_errors import ApiError, ErrorReason


class SecretStore:
    """A `certs.store.Store`. Other failed calls pass through as Failure. For one thread."""

    def __init__(self, api: Api, namespace: str, name: str) -> None:
        self._api, self._namespace, self._name = api, namespace, name
        self._read: JsonObject = {}

    def __str__(self) -> str:
        return f"Secret {self._namespace}/{self._name}"

    def read(self) -> Stored | None:
        try:
            self._read = self._api.call("GET", path("v1", "secrets", self._namespace, self._name))
        except ApiError as failure:
            if failure.reason is not ErrorReason.NOT_FOUND:
                raise
            return None
        return Stored({name: base64.b64decode(text) for name, text in _data(self._read).items()}, _version(self._read))

    def create(self, data: Mapping[str, bytes]) -> None:
        metadata = {"namespace": self._namespace, "name": self._name}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": _encoded(data)}
        try:
            self._api.call("POST", path("v1", "secrets", self._namespace), body=body)
        except ApiError as failure:
            if failure.reason is ErrorReason.ALREADY_EXISTS:
                raise Exists(f"{self}: somebody else created it first") from failure
            message = f"{self} does not exist and cannot be created: {failure.message}"
            raise ApiError(failure.reason, message, failure.status, failure.headers) from failure

    def write(self, data: Mapping[str, bytes], expected_version: str) -> None:
        if _version(self._read) != expected_version:
            raise Conflict(f"{self}: version {expected_version} is not the one that was read last")
        others = {name: text for name, text in _data(self._read).items() if name not in entries.ALL}
        # With the resource version that was read in its metadata: if anybody wrote it since, this fails.
        body = {**self._read, "data": others | _encoded(data)}
        try:
            self._api.call("PUT", path("v1", "secrets", self._namespace, self._name), body=body)
        except ApiError as failure:
            if failure.reason in (ErrorReason.CONFLICT, ErrorReason.NOT_FOUND):
                raise Conflict(f"{self}: somebody else wrote or removed it meanwhile") from failure
            raise


def _data(secret: JsonObject) -> dict[str, str]:
    """The entries in base64, as the API server has checked it; a null one is empty."""
    data = secret.get("data")
    return {name: text or "" for name, text in data.items()} if isinstance(data, dict) else {}


def _version(secret: JsonObject) -> str:
    metadata = secret.get("metadata")
    return str(metadata.get("resourceVersion", "")) if isinstance(metadata, dict) else ""


def _encoded(data: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(content).decode() for name, content in data.items()}
