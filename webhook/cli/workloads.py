"""The pods that a manifest's objects would make."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from webhook.core.review import Review

_TEMPLATES = {
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}
"""Group and kind → where the pod template stands."""


@dataclass(frozen=True, slots=True)
class Made:
    """A pod, and whose it is: `Deployment web`."""

    origin: str
    namespace: str
    pod: dict[str, object]

    def review(self) -> Review:
        """The review of its creation. The uid is made from the pod's origin, so that the same manifest gives the same
        claim names; in a cluster each admission has its own."""
        uid = hashlib.sha256(f"{self.namespace}/{self.origin}".encode()).hexdigest()
        return Review(uid, "", "Pod", "CREATE", self.namespace, "", self.pod)


def pod(document: Mapping[str, object]) -> Made | None:
    """The pod that this object is or makes; None for an object of another kind, or without a template."""
    version, kind = str(document.get("apiVersion") or ""), str(document.get("kind"))
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name, namespace = str(metadata.get("name") or ""), str(metadata.get("namespace") or "default")
    if (version, kind) == ("v1", "Pod"):
        return Made(f"Pod {name or metadata.get('generateName') or ''}".strip(), namespace, dict(document))
    template: object = document
    for key in _TEMPLATES.get((version.partition("/")[0], kind), ()):
        template = template.get(key) if isinstance(template, dict) else None
    if template is document or not isinstance(template, dict):
        return None
    inner = template.get("metadata")
    inner = dict(inner) if isinstance(inner, dict) else {}
    given = {"name": f"{name}-0"} if kind == "StatefulSet" else {"generateName": f"{name}-"}
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": given | {"namespace": namespace} | inner}
    return Made(f"{kind} {name}", namespace, made | {"spec": template.get("spec")})
