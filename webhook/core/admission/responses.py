"""The answer: an AdmissionReview with a response, as the API server wants it."""

import base64
import json

from webhook.core.admission.decide import Decision
from webhook.core.admission.review import API_VERSION, KIND
from webhook.errors import truncate

_JSON = json.JSONEncoder(separators=(",", ":"))


def build(uid: str, decision: Decision) -> dict[str, object]:
    """The AdmissionReview that answers the review `uid`. The reason goes to the audit log with allowed and refused
    alike; a patch is only there if it does something."""
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
        response["status"] = status(decision.reason.value, decision.reason.code, decision.message)
    return {"apiVersion": API_VERSION, "kind": KIND, "response": response}


def status(reason: str, code: int, message: str) -> dict[str, object]:
    """A metav1.Status. The API server shows `message` to the user and takes the HTTP status from `code`."""
    return {"status": "Failure", "reason": reason, "code": code, "message": truncate(message)}
