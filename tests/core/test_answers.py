"""The answer: an AdmissionReview that an API server takes, for every decision there can be."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.builders import UID, Json, mutate, patched, pod, validate
from webhook.core.admission import responses
from webhook.core.admission.decision import Decision
from webhook.reasons import Reason


def response(decision: Decision, uid: str = UID) -> Json:
    """The response, through JSON text; the envelope around it is checked."""
    document: Json = json.loads(json.dumps(responses.build(uid, decision)))
    assert document.keys() == {"apiVersion", "kind", "response"}
    assert (document["apiVersion"], document["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    made: Json = document["response"]
    assert made["uid"] == uid
    return made


def test_an_injection_carries_its_patch_and_what_was_done() -> None:
    decision = mutate(pod())
    made = response(decision)
    assert made.keys() == {"uid", "allowed", "auditAnnotations", "patchType", "patch", "warnings"}
    assert made["allowed"] is True
    assert made["patchType"] == "JSONPatch"
    operations = json.loads(base64.b64decode(made["patch"], validate=True))
    assert operations == json.loads(json.dumps(decision.patch))
    assert patched(pod(), Decision(True, Reason.INJECTED, tuple(operations))) == patched(pod(), decision)
    assert made["warnings"] == list(decision.warnings)


def test_a_refusal_carries_a_status_and_no_patch() -> None:
    decision = mutate(pod("{"))
    made = response(decision)
    assert made == {
        "uid": UID,
        "allowed": False,
        "auditAnnotations": {"reason": "InvalidModelFit"},
        "status": {"status": "Failure", "reason": "InvalidModelFit", "code": 422, "message": decision.message},
    }
    assert decision.message


@pytest.mark.parametrize("decision", [mutate(pod(None)), validate(pod(None)), Decision(True, Reason.ALREADY_INJECTED)])
def test_what_is_left_alone_has_neither_patch_nor_status(decision: Decision) -> None:
    assert response(decision) == {
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
def test_the_answer_repeats_the_uid_whatever_happened(uid: str, reason: Reason, allowed: bool, message: str) -> None:
    made = response(Decision(allowed, reason, message=message), uid)
    assert made["allowed"] is allowed
    assert ("status" in made) is not allowed
    if not allowed:
        assert len(made["status"]["message"].encode()) <= 1024
        assert made["status"]["code"] in (403, 422)


def test_no_message_makes_an_answer_longer_than_a_kilobyte() -> None:
    made = response(Decision(False, Reason.INVALID_MODEL_FIT, message="é" * 5000))
    assert made["status"]["message"] == "é" * 510 + "..."


def test_the_patch_is_the_same_bytes_each_time() -> None:
    assert len({json.dumps(responses.build(UID, mutate(pod()))) for _ in range(3)}) == 1
