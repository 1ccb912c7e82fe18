"""The pods that a manifest's objects would make."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from webhook.cli import UsageError, inputs
from webhook.core.admission import pod_templates
from webhook.core.admission.pod_templates import Template
from webhook.core.admission.review import Review
from webhook.errors import Denied, MalformedCall

_DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class RenderedPod:
    """A pod, and whose it is: `Deployment web`. `template` is what it is made from, unless it is a Pod itself."""

    origin: str
    namespace: str | None
    pod: dict[str, object]
    template: Template | None = None

    def review(self, number: int) -> Review:
        """The review of its creation. The uid is made from the pod's origin and from how many of that origin came
        before, so that the same manifest gives the same claim names; in a cluster each admission has its own."""
        uid = hashlib.sha256(f"{self.namespace}/{self.origin}/{number}".encode("utf-8", "surrogatepass")).hexdigest()
        return Review(uid, "", "Pod", "CREATE", self.namespace or _DEFAULT_NAMESPACE, "", self.pod)

    def located(self, message: str) -> str:
        """What is said of the pod, with its path in the manifest's object."""
        return self.template.located(message) if self.template else message

    def refused(self, refusal: Denied) -> Denied:
        """The refusal of the pod, with its paths in the manifest's object."""
        return self.template.refused(refusal) if self.template else refusal


def pod(document: Mapping[str, object]) -> RenderedPod | None:
    """The pod that this object is or makes; None for an object of another kind. Raises UsageError for a workload
    without a template."""
    version, kind = str(document["apiVersion"]), str(document["kind"])
    path = pod_templates.path(version.rpartition("/")[0], kind)
    if path is None and (version, kind) != ("v1", "Pod"):
        return None
    metadata = _object(document.get("metadata"))
    name, prefix = _text(metadata.get("name")), _text(metadata.get("generateName"))
    namespace = _text(metadata.get("namespace")) or None
    origin = f"{kind} {inputs.printable(name or prefix)}" if name or prefix else f"{kind} without a name"
    if path is None:
        return RenderedPod(origin, namespace, dict(document))
    template: object = document
    for key in path:
        template = _object(template).get(key)
    if not isinstance(template, dict):
        raise UsageError(f"{origin}: {'.'.join(path)}: no object; want the pod template")
    inner = _object(template.get("metadata"))
    given = _identity(kind, name or prefix, document) | ({"namespace": namespace} if namespace else {})
    made = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": given | {key: inner[key] for key in pod_templates.COPIED if key in inner},
        "spec": template.get("spec"),
    }
    try:
        seen = pod_templates.view(path, document)
    except MalformedCall as error:
        raise UsageError(f"{origin}: {error}") from None
    return RenderedPod(origin, namespace, made, seen)


def _identity(kind: str, name: str, document: Mapping[str, object]) -> dict[str, object]:
    """The name of a StatefulSet's first pod; the others' have a chance part."""
    if kind != "StatefulSet":
        return {"generateName": f"{name.removesuffix('-')}-"}
    ordinals = _object(_object(document.get("spec")).get("ordinals"))
    return {"name": f"{name}-{ordinals.get('start') or 0}"}


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
