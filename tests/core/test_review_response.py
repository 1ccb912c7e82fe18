"""The response to a review: valid for every decision."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.builders import UID, Json, mutate, patched, pod, validate
from webhook.core.admission import review
from webhook.core.admission.decision import Decision
from webhook.reasons import Reason


def respond(decision: Decision, uid: str = UID) -> Json:
    """The response, serialized to JSON and back."""
    document: Json = json.loads(json.dumps(review.build_response(uid, decision)))
    assert document.keys() == {"apiVersion", "kind", "response"}
    assert (document["apiVersion"], document["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: Json = document["response"]
    assert response["uid"] == uid
    return response


def test_an_injection_has_a_patch_and_the_summary_as_a_warning() -> None:
    decision = mutate(pod())
    response = respond(decision)
    assert response.keys() == {"uid", "allowed", "auditAnnotations", "patchType", "patch", "warnings"}
    assert response["allowed"] is True
    assert response["patchType"] == "JSONPatch"
    operations = json.loads(base64.b64decode(response["patch"], validate=True))
    assert operations == json.loads(json.dumps(decision.patch))
    assert patched(pod(), Decision(True, Reason.INJECTED, tuple(operations))) == patched(pod(), decision)
    assert response["warnings"] == list(decision.warnings)


def test_a_denial_has_a_status_and_no_patch() -> None:
    decision = mutate(pod("{"))
    assert decision.message
    assert respond(decision) == {
        "uid": UID,
        "allowed": False,
        "auditAnnotations": {"reason": "InvalidModelFit"},
        "status": {"status": "Failure", "reason": "InvalidModelFit", "code": 422, "message": decision.message},
    }


@pytest.mark.parametrize("decision", [mutate(pod(None)), validate(pod(None)), Decision(True, Reason.ALREADY_INJECTED)])
def test_an_unchanged_object_has_neither_patch_nor_status(decision: Decision) -> None:
    assert respond(decision) == {
        "uid": UID,
        "allowed": True,
        "auditAnnotations": {"reason": decision.reason.value},
    }


@given(
    st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1),
    st.sampled_from(Reason),
    st.booleans(),
    st.text(),
)
def test_every_decision_has_a_response_with_the_uid(uid: str, reason: Reason, allowed: bool, message: str) -> None:
    response = respond(Decision(allowed, reason, message=message), uid)
    assert response["allowed"] is allowed
    assert ("status" in response) is not allowed
    if not allowed:
        assert len(response["status"]["message"].encode()) <= 1024
        assert response["status"]["code"] in (403, 422)


def test_the_message_is_truncated_to_a_kilobyte() -> None:
    response = respond(Decision(False, Reason.INVALID_MODEL_FIT, message="é" * 5000))
    assert response["status"]["message"] == "é" * 510 + "..."


def test_the_same_review_gets_the_same_bytes() -> None:
    assert len({json.dumps(review.build_response(UID, mutate(pod()))) for _ in range(3)}) == 1
