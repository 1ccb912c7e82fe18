"""The question: an AdmissionReview of admission.k8s.io/v1, as far as this webhook looks at it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from webhook.errors import MalformedCall, quote

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"

_MAX_UID = 1024

JsonObject: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Review:
    """One admission request. `group` and `kind` are those of the object, `operation` is CREATE, UPDATE, DELETE or
    CONNECT; absent texts are empty."""

    uid: str
    group: str
    kind: str
    operation: str
    namespace: str
    subresource: str
    object: JsonObject | None
    old_object: JsonObject | None = None
    dry_run: bool = False

    @property
    def is_pod(self) -> bool:
        return self.kind == "Pod" and not self.group


def parse(document: object) -> Review:
    """The review in a decoded JSON document. Raises MalformedCall where it cannot be answered as one."""
    if not isinstance(document, dict):
        raise MalformedCall("the body is not a JSON object; want an AdmissionReview")
    version, kind = document.get("apiVersion"), document.get("kind")
    if version != API_VERSION or kind != KIND:
        raise MalformedCall(f"saw {quote(version)} {quote(kind)}; want {API_VERSION} {KIND}")
    request = document.get("request")
    if not isinstance(request, dict):
        raise MalformedCall("request: want an object")
    uid = _text(request, "uid")
    if not uid or len(uid) > _MAX_UID:
        raise MalformedCall(f"request.uid: want a text of 1 to {_MAX_UID} characters; an answer must repeat it")
    kind_of_object = _object(request, "kind") or {}
    return Review(
        uid=uid,
        group=_text(kind_of_object, "group", "request.kind"),
        kind=_text(kind_of_object, "kind", "request.kind"),
        operation=_text(request, "operation"),
        namespace=_text(request, "namespace"),
        subresource=_text(request, "subResource"),
        object=_object(request, "object"),
        old_object=_object(request, "oldObject"),
        dry_run=request.get("dryRun") is True,
    )


def _text(members: Mapping[str, object], key: str, where: str = "request") -> str:
    value = members.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedCall(f"{where}.{key}: want a text")
    return value


def _object(members: Mapping[str, object], key: str) -> Mapping[str, object] | None:
    value = members.get(key)
    if value is not None and not isinstance(value, dict):
        raise MalformedCall(f"request.{key}: want an object")
    return value
