"""An API server as far as the certificate's keeper asks it: versions, optimistic locking, merging by name."""

import base64
import copy
from collections.abc import Callable
from typing import Any, cast

from webhook.cluster.api import Api, JsonObject
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.secret_store import SecretStore
from webhook.cluster.webhook_configurations import WebhookConfiguration

SECRET = "/api/v1/namespaces/modelfit/secrets/tls"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{HOOKS}/mutatingwebhookconfigurations/ours"
VALIDATING = f"{HOOKS}/validatingwebhookconfigurations/ours"
OURS = {MUTATING: ["mutate.modelfit.llmfit.ai"], VALIDATING: ["validate.modelfit.llmfit.ai", "two.modelfit.llmfit.ai"]}
FOREIGN = "modelfit.example.com"


class Objects:
    """`there` are the objects by path. `before(method, path)` runs before each call, and may raise or change them."""

    def __init__(self) -> None:
        self.there: dict[str, Any] = {}
        self.version = 0
        self.calls: list[tuple[str, str]] = []
        self.bodies: list[Any] = []
        self.before: Callable[[str, str], None] = lambda method, path: None

    def put(self, path: str, body: JsonObject) -> JsonObject:
        self.version += 1
        metadata = {**cast(JsonObject, body.get("metadata", {})), "resourceVersion": str(self.version)}
        self.there[path] = {**copy.deepcopy(body), "metadata": metadata}
        return copy.deepcopy(self.there[path])

    def call(
        self, method: str, path: str, *, body: JsonObject | None = None, content_type: str = "", **more: object
    ) -> JsonObject:
        self.calls.append((method, path))
        self.bodies.append(body)
        self.before(method, path)
        if method == "POST":
            name = cast(JsonObject, (body or {})["metadata"])["name"]
            if f"{path}/{name}" in self.there:
                raise ApiError(ErrorReason.ALREADY_EXISTS, "there is one", 409)
            return self.put(f"{path}/{name}", body or {})
        if path not in self.there:
            raise ApiError(ErrorReason.NOT_FOUND, "none", 404)
        if method == "GET":
            return copy.deepcopy(self.there[path])
        assert body is not None
        if cast(JsonObject, body["metadata"])["resourceVersion"] != self.there[path]["metadata"]["resourceVersion"]:
            raise ApiError(ErrorReason.CONFLICT, "changed", 409)
        if method == "PUT":
            return self.put(path, body)
        assert (method, content_type) == ("PATCH", "application/strategic-merge-patch+json")
        merged = copy.deepcopy(self.there[path])
        for change in cast(list[Any], body["webhooks"]):
            (hook,) = [each for each in merged["webhooks"] if each["name"] == change["name"]]
            hook["clientConfig"] |= change["clientConfig"]
        return self.put(path, merged)

    def make_secret(self, data: dict[str, bytes] | None = None) -> None:
        encoded = {name: base64.b64encode(content).decode() for name, content in (data or {}).items()}
        labels = {"labels": {"a": "b"}, "namespace": "modelfit", "name": "tls"}
        self.put(SECRET, {"kind": "Secret", "metadata": labels, **({"data": encoded} if data is not None else {})})

    def make_configuration(self, path: str) -> None:
        hooks = [{"name": name, "clientConfig": {"url": "https://a"}} for name in [FOREIGN, *OURS[path]]]
        self.put(path, {"metadata": {"name": "ours"}, "webhooks": hooks})

    def data(self) -> dict[str, bytes]:
        return {name: base64.b64decode(text) for name, text in self.there[SECRET].get("data", {}).items()}

    def bundles(self) -> dict[str, bytes]:
        """The caBundle of every webhook, ours or not, by name."""
        return {
            hook["name"]: base64.b64decode(hook["clientConfig"].get("caBundle", ""))
            for path in OURS
            if path in self.there
            for hook in self.there[path]["webhooks"]
            if hook["name"] != FOREIGN or "caBundle" in hook["clientConfig"]
        }

    def write_bundle(self, path: str, bundle: bytes | None) -> None:
        """Somebody else does."""
        changed = copy.deepcopy(self.there[path])
        for hook in changed["webhooks"]:
            hook["clientConfig"] = {"caBundle": base64.b64encode(bundle).decode()} if bundle is not None else {}
        self.put(path, changed)

    @property
    def api(self) -> Api:
        return cast(Api, self)

    def store(self) -> SecretStore:
        return SecretStore(self.api, "modelfit", "tls")

    def configurations(self) -> list[WebhookConfiguration]:
        return [WebhookConfiguration(self.api, kind, "ours") for kind in ("mutating", "validating")]
