"""The AdmissionReview that carries a decision back to the API server."""

import base64
import json

from webhook.core.admission.decision import Decision
from webhook.core.admission.review import API_VERSION, KIND
from webhook.errors import truncate

_JSON = json.JSONEncoder(separators=(",", ":"))


def build(uid: str, decision: Decision) -> dict[str, object]:
    """The response to the review `uid`. The audit annotation has the reason of allowed and denied requests alike."""
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
