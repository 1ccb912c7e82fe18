"""The AdmissionReview of admission.k8s.io/v1, request and response."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from webhook.core.admission.decision import Decision
from webhook.errors import MalformedCall, quote, truncate
from webhook.json_tree import strict_object, strict_text

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"

_MAX_UID = 1024

# In the body of Review `object` is a field.
_Object: TypeAlias = Mapping[str, object]

_JSON = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Review:
    """An admission request, as far as decisions read it. `group` and `kind` are those of the object; `operation` is
    CREATE, UPDATE, DELETE or CONNECT; absent strings are empty."""

    uid: str
    group: str
    kind: str
    operation: str
    namespace: str
    subresource: str
    object: _Object | None
    old_object: _Object | None = None
    dry_run: bool = False

    @property
    def is_pod(self) -> bool:
        return self.kind == "Pod" and not self.group

    def required_object(self) -> _Object:
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


def build_response(uid: str, decision: Decision) -> dict[str, object]:
    """The AdmissionReview with the response. The audit annotation has the reason of allowed and denied requests."""
    response: dict[str, object] = {
        "uid": uid,
        "allowed": decision.allowed,
        "auditAnnotations": {"reason": decision.reason.value},
    }
    if decision.patch:
        patch = _JSON.encode(decision.patch)
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch.encode()).decode()}
    if decision.warnings:
        response["warnings"] = list(decision.warnings)
    if not decision.allowed:
        response["status"] = build_status(decision.reason.value, decision.reason.code, decision.message)
    return {"apiVersion": API_VERSION, "kind": KIND, "response": response}


def build_status(reason: str, code: int, message: str) -> dict[str, object]:
    """A metav1.Status. The API server shows `message` to the user and returns `code` as the HTTP status."""
    return {"status": "Failure", "reason": reason, "code": code, "message": truncate(message)}


def _object(request: Mapping[str, object], key: str) -> Mapping[str, object] | None:
    return None if request.get(key) is None else strict_object(request, key, "request")
