"""An API server with one Secret and two webhook configurations: optimistic locking, merge by name."""

import base64
import copy
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from certs.rotation_config import RotationConfig
from webhook.cluster.api import Api
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.secret_store import SecretStore
from webhook.cluster.webhook_configurations import WebhookConfiguration
from webhook.controller.certificate_reconciler import CertificateReconciler
from webhook.json_tree import JsonObject

SECRET = "/api/v1/namespaces/modelfit/secrets/tls"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{CONFIGURATIONS}/mutatingwebhookconfigurations/ours"
VALIDATING = f"{CONFIGURATIONS}/validatingwebhookconfigurations/ours"
WEBHOOKS = {
    MUTATING: ["mutate.modelfit.llmfit.ai"],
    VALIDATING: ["validate.modelfit.llmfit.ai", "two.modelfit.llmfit.ai"],
}
FOREIGN = "modelfit.example.com"
"""A webhook that is not modelfit's."""
HOST = "modelfit.modelfit.svc"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


class Clock:
    now = NOON

    def __call__(self) -> datetime:
        return self.now


def succeed(method: str, path: str) -> None:
    """The calls succeed."""


def fail(reason: ErrorReason, *, method: str = "", path: str = "", retry_after: str = "") -> Callable[[str, str], None]:
    """Calls of that method to that path fail."""

    def before(called: str, where: str) -> None:
        if method in ("", called) and where.startswith(path):
            raise ApiError(reason, "no", headers={"Retry-After": retry_after} if retry_after else None)

    return before


class FakeApiServer:
    """`objects` by path. `before(method, path)` runs before each call, and may raise or change objects."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.version = 0
        self.calls: list[tuple[str, str]] = []
        self.bodies: list[Any] = []
        self.before: Callable[[str, str], None] = succeed

    def put(self, path: str, body: JsonObject) -> JsonObject:
        self.version += 1
        metadata = {**cast(JsonObject, body.get("metadata", {})), "resourceVersion": str(self.version)}
        self.objects[path] = {**copy.deepcopy(body), "metadata": metadata}
        return copy.deepcopy(self.objects[path])

    def call(
        self, method: str, path: str, *, body: JsonObject | None = None, content_type: str = "", **more: object
    ) -> JsonObject:
        self.calls.append((method, path))
        self.bodies.append(body)
        self.before(method, path)
        if method == "POST":
            name = cast(JsonObject, (body or {})["metadata"])["name"]
            if f"{path}/{name}" in self.objects:
                raise ApiError(ErrorReason.ALREADY_EXISTS, "exists", 409)
            return self.put(f"{path}/{name}", body or {})
        if path not in self.objects:
            raise ApiError(ErrorReason.NOT_FOUND, "none", 404)
        if method == "GET":
            return copy.deepcopy(self.objects[path])
        assert body is not None
        if cast(JsonObject, body["metadata"])["resourceVersion"] != self.objects[path]["metadata"]["resourceVersion"]:
            raise ApiError(ErrorReason.CONFLICT, "changed", 409)
        if method == "PUT":
            return self.put(path, body)
        assert (method, content_type) == ("PATCH", "application/strategic-merge-patch+json")
        merged = copy.deepcopy(self.objects[path])
        for change in cast(list[Any], body["webhooks"]):
            (webhook,) = [each for each in merged["webhooks"] if each["name"] == change["name"]]
            webhook["clientConfig"] |= change["clientConfig"]
        return self.put(path, merged)

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [call for call in self.calls if call[0] != "GET"]

    def make_secret(self, data: Mapping[str, bytes] | None = None) -> None:
        encoded = {key: base64.b64encode(value).decode() for key, value in (data or {}).items()}
        metadata = {"labels": {"a": "b"}, "namespace": "modelfit", "name": "tls"}
        self.put(SECRET, {"kind": "Secret", "metadata": metadata, **({"data": encoded} if data is not None else {})})

    def make_configuration(self, path: str) -> None:
        webhooks = [{"name": name, "clientConfig": {"url": "https://a"}} for name in [FOREIGN, *WEBHOOKS[path]]]
        self.put(path, {"metadata": {"name": "ours"}, "webhooks": webhooks})

    def data(self) -> dict[str, bytes]:
        """The data of the Secret."""
        return {key: base64.b64decode(text) for key, text in self.objects[SECRET].get("data", {}).items()}

    def ca_bundles(self) -> dict[str, bytes]:
        """The caBundle of each of modelfit's webhooks, and of foreign ones that have one."""
        return {
            webhook["name"]: base64.b64decode(webhook["clientConfig"].get("caBundle", ""))
            for path in WEBHOOKS
            if path in self.objects
            for webhook in self.objects[path]["webhooks"]
            if webhook["name"] != FOREIGN or "caBundle" in webhook["clientConfig"]
        }

    def consistent(self) -> bool:
        """Whether every webhook of modelfit trusts exactly the CAs in the Secret."""
        bundles = self.ca_bundles()
        return len(bundles) == 3 and set(bundles.values()) == {self.data()["ca.crt"]}

    def overwrite(self, path: str, bundle: bytes | None) -> None:
        """Another client replaces every caBundle of a configuration."""
        changed = copy.deepcopy(self.objects[path])
        for webhook in changed["webhooks"]:
            webhook["clientConfig"] = {"caBundle": base64.b64encode(bundle).decode()} if bundle is not None else {}
        self.put(path, changed)

    def store(self) -> SecretStore:
        return SecretStore(cast(Api, self), "modelfit", "tls")

    def configurations(self) -> list[WebhookConfiguration]:
        return [WebhookConfiguration(cast(Api, self), kind, "ours") for kind in ("mutating", "validating")]

    def reconciler(self, clock: Clock, config: RotationConfig | None = None) -> CertificateReconciler:
        return CertificateReconciler(self.store(), self.configurations(), [HOST], config or RotationConfig(), clock)
