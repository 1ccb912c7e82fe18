"""A webhook certificate that controllers issue: the objects that the chart creates for it, and webhook replicas."""

from __future__ import annotations

import base64
import json
import secrets
import socket
import ssl
import threading
from collections.abc import Mapping
from types import TracebackType

from testbed import workspace
from testbed.api import ApiError, JsonObject
from testbed.controllers import NAMESPACE, USER, grant_controller_rbac
from testbed.controlplane import ControlPlane
from testbed.node.volumes import SourceMissingError, Volume
from testbed.paths import path
from testbed.ports import free_port
from testbed.programs import modelfit
from testbed.rbac import grant
from testbed.servers import LOOPBACK
from testbed.webhooks import MUTATING, VALIDATING, VALIDATING_TEMPLATES

SERVICE = "modelfit"
HOST = f"{SERVICE}.{NAMESPACE}.svc"
FOREIGN = "foreign.example.com"
"""A webhook in the mutating configuration that is not modelfit's."""

MUTATING_KIND, VALIDATING_KIND = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
OURS = {MUTATING_KIND: [MUTATING], VALIDATING_KIND: [VALIDATING, VALIDATING_TEMPLATES]}
MOUNTED = ("tls.crt", "tls.key")
SYNC_SECONDS = 0.2
"""Seconds between updates of a mounted Secret; a kubelet's are a minute apart."""


class Installation:
    """An empty Secret, the permissions that the chart grants for it, and webhook `configurations`, whose webhooks match
    no object. All are named `name`. A context manager that deletes them."""

    def __init__(self, plane: ControlPlane, *, configurations: tuple[str, ...] = (MUTATING_KIND, VALIDATING_KIND)):
        self.plane, self.api = plane, plane.api()
        self.name = f"certified-{secrets.token_hex(3)}"
        grant_controller_rbac(plane)
        self._permit()
        self.make_secret()
        for kind in configurations:
            self.make_configuration(kind)

    def __enter__(self) -> Installation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for configuration in OURS:
            self.api.delete_if_exists(path(configuration, None, self.name))
        self.api.delete_if_exists(path("Secret", NAMESPACE, self.name))
        for role in ("Role", "RoleBinding"):
            self.api.delete_if_exists(path(role, NAMESPACE, self.name))
        for role in ("ClusterRole", "ClusterRoleBinding"):
            self.api.delete_if_exists(path(role, None, self.name))

    def settings(self, **more: object) -> Mapping[str, str]:
        """The controller's settings as environment variables; `more` are further fields of the certificates group."""
        group = {
            "namespace": NAMESPACE,
            "secret": self.name,
            "service": SERVICE,
            "mutatingWebhookConfiguration": self.name,
            "validatingWebhookConfiguration": self.name,
            **more,
        }
        return {"MODELFIT_CERTIFICATES": json.dumps(group)}

    def make_secret(self, data: Mapping[str, bytes] | None = None) -> None:
        """The Secret as the chart creates it, without data."""
        self.api.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "Opaque",
                "metadata": {"name": self.name, "namespace": NAMESPACE, "labels": {"installed-by": "test"}},
                **({"data": _encoded(data)} if data is not None else {}),
            }
        )

    def make_configuration(self, kind: str) -> None:
        names = OURS[kind] + ([FOREIGN] if kind == MUTATING_KIND else [])
        metadata = {"name": self.name}
        version = "admissionregistration.k8s.io/v1"
        # The foreign webhook first: the order must not matter.
        webhooks = [self._webhook(name) for name in reversed(names)]
        self.api.create({"apiVersion": version, "kind": kind, "metadata": metadata, "webhooks": webhooks})

    def secret(self) -> JsonObject:
        return self.api.get(path("Secret", NAMESPACE, self.name))

    def data(self) -> dict[str, bytes]:
        """The data of the Secret."""
        return {name: base64.b64decode(text) for name, text in (self.secret().get("data") or {}).items()}

    def damage(self, data: Mapping[str, bytes | None]) -> None:
        """Replaces keys of the Secret; None removes one."""
        encoded = {name: None if value is None else base64.b64encode(value).decode() for name, value in data.items()}
        self.api.patch(path("Secret", NAMESPACE, self.name), {"data": encoded})

    def webhooks(self, kind: str) -> list[JsonObject]:
        return list(self.api.get(path(kind, None, self.name))["webhooks"])

    def bundles(self) -> dict[str, bytes]:
        """The caBundle of each of modelfit's webhooks, by name."""
        found = {}
        for kind, names in OURS.items():
            configuration = self.api.find(path(kind, None, self.name)) or {"webhooks": []}
            for hook in configuration["webhooks"]:
                if hook["name"] in names:
                    found[hook["name"]] = base64.b64decode(hook["clientConfig"].get("caBundle") or "")
        return found

    def write_bundle(self, kind: str, bundle: bytes) -> None:
        """Another client replaces every caBundle of a configuration."""
        found = self.api.get(path(kind, None, self.name))
        for hook in found["webhooks"]:
            hook["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
        self.api.put(path(kind, None, self.name), found)

    def in_place(self) -> bool:
        """Whether there is a certificate, and every webhook of modelfit trusts exactly its CAs."""
        data = self.data()
        return {"tls.crt", "tls.key", "ca.crt"} <= data.keys() and set(self.bundles().values()) <= {data["ca.crt"]}

    def _webhook(self, name: str) -> JsonObject:
        mutates = {"reinvocationPolicy": "IfNeeded"} if name == MUTATING else {}
        return {
            "name": name,
            "clientConfig": {"service": {"name": SERVICE, "namespace": NAMESPACE, "path": "/mutate"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
            "namespaceSelector": {"matchLabels": {"matches": "nothing"}},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **mutates,
        }

    def _permit(self) -> None:
        inside, outside = rules(self.name, self.name)
        grant(self.api, USER, outside, name=self.name)
        metadata, group = {"name": self.name, "namespace": NAMESPACE}, "rbac.authorization.k8s.io"
        role = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": inside}
        subject = {"kind": "ServiceAccount", "namespace": NAMESPACE, "name": USER.rpartition(":")[2]}
        binding = {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": self.name},
            "subjects": [subject],
        }
        for manifest in (role, binding):
            try:
                self.api.create(manifest)
            except ApiError as refusal:
                if refusal.reason != "AlreadyExists":
                    raise


def rules(secret: str, configuration: str) -> tuple[list[JsonObject], list[JsonObject]]:
    """RBAC rules that the chart grants for the certificate: in the namespace, and in the cluster. A test of the chart
    compares them with what it renders."""
    inside: JsonObject = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [secret]}
    outside: JsonObject = {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        "resourceNames": [configuration],
    }
    return [{**inside, "verbs": ["get", "update"]}], [{**outside, "verbs": ["get", "patch"]}]


class Replica:
    """A webhook replica: started once the Secret has the keys that it mounts; its mount is kept up to date. A context
    manager."""

    def __init__(
        self,
        installation: Installation,
        *,
        sync_seconds: float = SYNC_SECONDS,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._sync_seconds = sync_seconds
        self.port = free_port()
        folder = workspace.current().folder("replica")
        items = [{"key": name, "path": name} for name in MOUNTED]
        volume = {"name": "certs", "secret": {"secretName": installation.name, "items": items}}
        self._volume = Volume(installation.api, NAMESPACE, volume, folder / "certs")
        certificate, key = (self._volume.folder / name for name in MOUNTED)
        self.process = modelfit(
            "webhook",
            *("serve", "--host", LOOPBACK, "--port", str(self.port), "--cert", certificate, "--key", key),
            environment=environment,
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True, name="replica")

    def __enter__(self) -> Replica:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self.process.kill()

    def served(self, bundle: bytes) -> bytes:
        """The leaf, DER, that a client which trusts `bundle` receives for the Service's name. Raises OSError, also for
        TLS errors."""
        with (
            socket.create_connection((LOOPBACK, self.port), timeout=5) as connection,
            trusting(bundle).wrap_socket(connection, server_hostname=HOST) as secured,
        ):
            leaf = secured.getpeercert(binary_form=True)
        assert leaf is not None
        return leaf

    def _live(self) -> None:
        started = False
        while not self._stop.wait(self._sync_seconds):
            try:
                self._volume.refresh()
            except (SourceMissingError, ApiError):
                # The mounted files stay.
                continue
            if not started:
                self.process.start()
                started = True


def trusting(bundle: bytes) -> ssl.SSLContext:
    """A client in strict mode that trusts only the CAs in `bundle`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    context.load_verify_locations(cadata=bundle.decode())
    return context


def _encoded(data: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(content).decode() for name, content in data.items()}
