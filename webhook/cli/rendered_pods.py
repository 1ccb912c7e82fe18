"""Renders the pods that a manifest's objects are or would create."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from webhook.cli import UsageError, inputs
from webhook.core.admission import pod_templates
from webhook.core.admission.pod_templates import Template
from webhook.core.admission.review import Review
from webhook.errors import Denied, MalformedCall
from webhook.json_tree import get_object, get_text

_DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class RenderedPod:
    """A pod and the object that it comes from."""

    origin: str
    """Kind and name of the object: `Deployment web`."""
    namespace: str | None
    pod: dict[str, object]
    template: Template | None = None
    """The pod template; None if the object is a Pod."""

    def create_review(self, number: int) -> Review:
        """The review of the pod's creation. Its uid is a hash of the origin and of `number`, which counts pods of the
        same origin, so that a manifest always gives the same claim names. In a cluster each admission has its own."""
        uid = hashlib.sha256(f"{self.namespace}/{self.origin}/{number}".encode("utf-8", "surrogatepass")).hexdigest()
        return Review(uid, "", "Pod", "CREATE", self.namespace or _DEFAULT_NAMESPACE, "", self.pod)

    def qualify(self, message: str) -> str:
        """A message about the pod, with a leading path relative to the manifest's object."""
        return self.template.qualify(message) if self.template else message

    def qualify_errors(self, denied: Denied) -> Denied:
        """The denial of the pod, with the paths of its errors relative to the manifest's object."""
        return self.template.qualify_errors(denied) if self.template else denied


def render(document: Mapping[str, object]) -> RenderedPod | None:
    """The pod that this object is or creates; None for an object of another kind. Raises UsageError for a workload
    without a pod template."""
    version, kind = str(document["apiVersion"]), str(document["kind"])
    path = pod_templates.find_path(version.rpartition("/")[0], kind)
    if path is None and (version, kind) != ("v1", "Pod"):
        return None
    name = get_text(document, "metadata", "name") or get_text(document, "metadata", "generateName") or ""
    namespace = get_text(document, "metadata", "namespace") or None
    origin = f"{kind} {inputs.quote_unprintable(name)}" if name else f"{kind} without a name"
    if path is None:
        return RenderedPod(origin, namespace, dict(document))
    pod_template = get_object(document, *path[:-1]).get(path[-1])
    if not isinstance(pod_template, dict):
        raise UsageError(f"{origin}: {'.'.join(path)}: not an object; want a pod template")
    template_metadata = get_object(pod_template, "metadata")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **_pod_name(kind, name, document),
            **({"namespace": namespace} if namespace else {}),
            **{key: template_metadata[key] for key in pod_templates.COPIED_METADATA if key in template_metadata},
        },
        "spec": pod_template.get("spec"),
    }
    try:
        template = pod_templates.from_workload(path, document)
    except MalformedCall as error:
        raise UsageError(f"{origin}: {error}") from None
    return RenderedPod(origin, namespace, pod, template)


def _pod_name(kind: str, name: str, document: Mapping[str, object]) -> dict[str, object]:
    """`name` of a StatefulSet's first pod, else `generateName`."""
    if kind != "StatefulSet":
        return {"generateName": f"{name.removesuffix('-')}-"}
    return {"name": f"{name}-{get_object(document, 'spec', 'ordinals').get('start') or 0}"}
