"""A namespace per test, with its pods, claims and Events."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from testbed.api import Api, JsonObject
from testbed.paths import path
from testbed.waiting import wait_for


class Namespace:
    """Creates a namespace and acts in it through `api`. `version` is the resource.k8s.io version of claims."""

    def __init__(self, api: Api, *, labels: Mapping[str, str] | None = None, version: str = "v1") -> None:
        self.api = api
        self.version = version
        self.name = f"test-{secrets.token_hex(4)}"
        metadata = {"name": self.name, "labels": dict(labels or {})}
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        account = path("ServiceAccount", self.name, "default")
        # Admission denies every pod until kube-controller-manager has created it.
        wait_for(f"namespace {self.name} has its service account", lambda: api.find(account))

    def path(self, kind: str, name: str | None = None, subresource: str | None = None) -> str:
        """The URL path of a kind in this namespace."""
        version = f"resource.k8s.io/{self.version}" if kind.startswith("ResourceClaim") else None
        return path(kind, self.name, name, subresource, api_version=version)

    def create(self, manifest: JsonObject, **query: str) -> JsonObject:
        """Creates an object in this namespace; `dryRun="All"` for a dry run. Raises ApiError."""
        return self.api.create(manifest, self.name, **query)

    def pod(self, name: str) -> JsonObject:
        return self.api.get(self.path("Pod", name))

    def pods(self, selector: str = "") -> list[JsonObject]:
        return self.api.list(self.path("Pod"), labelSelector=selector)

    def claims(self) -> list[JsonObject]:
        return self.api.list(self.path("ResourceClaim"))

    def events(self, *, name: str | None = None, reason: str | None = None) -> list[JsonObject]:
        """The Events in this namespace, filtered by the object's name and the reason if given."""
        fields = {"involvedObject.name": name, "reason": reason}
        selector = ",".join(f"{field}={value}" for field, value in fields.items() if value is not None)
        return self.api.list(self.path("Event"), fieldSelector=selector)

    def wait_bound(self, name: str, *, timeout: float = 30) -> JsonObject:
        """Waits until the pod is bound to a node and returns it. A timeout shows its conditions."""
        return wait_for(
            f"pod {self.name}/{name} is bound to a node",
            lambda: self.pod(name),
            lambda pod: pod["spec"].get("nodeName"),
            timeout=timeout,
            show=lambda pod: pod["status"],
        )

    def wait_claims(self, count: int, *, timeout: float = 30) -> list[JsonObject]:
        """Waits until this namespace has exactly `count` claims and returns them."""
        return wait_for(
            f"namespace {self.name} has {count} claims",
            self.claims,
            lambda claims: len(claims) == count,
            timeout=timeout,
        )

    def set_phase(self, name: str, phase: str) -> None:
        """Reports a phase as a kubelet does: Running, Succeeded or Failed."""
        ended = phase in ("Succeeded", "Failed")
        ready = {"type": "Ready", "status": "True" if phase == "Running" else "False"}
        status: JsonObject = {"phase": phase, "conditions": [ready]}
        if ended:
            ready["reason"] = "PodCompleted"
        self.api.patch(self.path("Pod", name, "status"), {"status": status}, "application/strategic-merge-patch+json")

    def delete_pod(self, name: str) -> None:
        """Without a grace period: there is no kubelet to confirm that a bound pod has ended."""
        self.api.delete(self.path("Pod", name), force=True)

    def finish_deletions(self) -> None:
        """Ends pods that were deleted with a grace period (by a rollout, for example), as kubelets do."""
        for pod in self.pods():
            if "deletionTimestamp" in pod["metadata"]:
                self.api.delete_if_exists(self.path("Pod", pod["metadata"]["name"]), force=True)

    def close(self) -> None:
        """Deletes the namespace and waits until its pods and claims are gone and hold no devices."""
        self.api.delete_if_exists(path("Namespace", None, self.name))
        # Nothing can be created in a terminating namespace, so no pod comes back.
        self.api.delete(self.path("Pod"), force=True)
        wait_for(
            f"nothing is left in namespace {self.name}",
            lambda: [item["metadata"]["name"] for item in (*self.pods(), *self.claims())],
            lambda left: not left,
            timeout=60,
        )
