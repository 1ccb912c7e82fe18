"""The AdmissionReview of admission.k8s.io/v1 that the API server sends, limited to what the decision reads."""

from collections.abc import Mapping
from dataclasses import dataclass

from webhook.errors import MalformedCall, quote
from webhook.json_tree import strict_object, strict_text

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"

_MAX_UID = 1024


@dataclass(frozen=True, slots=True)
class Review:
    """One admission request. `group` and `kind` are those of the object; `operation` is CREATE, UPDATE, DELETE or
    CONNECT; absent strings are empty."""

    uid: str
    group: str
    kind: str
    operation: str
    namespace: str
    subresource: str
    object: Mapping[str, object] | None
    old_object: Mapping[str, object] | None = None
    dry_run: bool = False

    @property
    def is_pod(self) -> bool:
        return self.kind == "Pod" and not self.group

    def required_object(self) -> Mapping[str, "object"]:
        """The object. Raises MalformedCall if there is none."""
        if self.object is None:
            raise MalformedCall(f"request.object: want the {self.kind}")
        return self.object


def parse(document: object) -> Review:
    """The review in a decoded JSON document. Raises MalformedCall if the document is not an AdmissionReview."""
    if not isinstance(document, dict):
        raise MalformedCall("the body is not a JSON object; want an AdmissionReview")
    version, kind = document.get("apiVersion"), document.get("kind")
    if version != API_VERSION or kind != KIND:
        raise MalformedCall(f"saw {quote(version)} {quote(kind)}; want {API_VERSION} {KIND}")
    request = document.get("request")
    if not isinstance(request, dict):
        raise MalformedCall("request: want an object")
    uid = strict_text(request, "uid", "request")
    if not uid or len(uid) > _MAX_UID:
        raise MalformedCall(f"request.uid: want a string of 1 to {_MAX_UID} characters; the response must repeat it")
    object_kind = strict_object(request, "kind", "request")
    return Review(
        uid=uid,
        group=strict_text(object_kind, "group", "request.kind"),
        kind=strict_text(object_kind, "kind", "request.kind"),
        operation=strict_text(request, "operation", "request"),
        namespace=strict_text(request, "namespace", "request"),
        subresource=strict_text(request, "subResource", "request"),
        object=_object(request, "object"),
        old_object=_object(request, "oldObject"),
        dry_run=request.get("dryRun") is True,
    )


def _object(request: Mapping[str, object], key: str) -> Mapping[str, object] | None:
    return None if request.get(key) is None else strict_object(request, key, "request")
