"""Checks that hold for the response to any body."""

import base64
import copy
import json
import re

import jsonpatch
import jsonpointer
import orjson
from werkzeug.test import Client

from tests.core.builders import Json
from tests.fuzz.corpus import SECRET
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import claim_names
from webhook.reasons import Reason

_OURS = re.compile(
    r"/spec/resourceClaims(/-|/\d+/resourceClaimName)?"
    r"|/spec/(initContainers|containers)/\d+/(resources(/claims(/-)?|/requests(/memory)?)?|env(/-)?)"
    r"|/metadata/(labels|annotations)(/llmfit\.ai~1(injected|injected-into|claim|resources))?"
)


class ViolationError(AssertionError):
    """The response violates one of the checks; the message names it."""


def check(client: Client, config: AdmissionConfig, path: str, body: bytes) -> str:
    """Posts the body and checks the response. Returns its reason, or "HTTP 4xx". Raises ViolationError."""
    response = client.post(path, data=body, content_type="application/json")
    _must(response.status_code in (200, 400, 413, 415), f"HTTP {response.status_code}")
    answer = orjson.loads(response.data)
    if response.status_code != 200:
        _must(
            len(response.data) < 2048 and SECRET not in json.dumps(answer), "a 4xx that is too long or has the secret"
        )
        return f"HTTP {response.status_code}"
    review = orjson.loads(body)
    made: Json = answer["response"]
    _must(answer["apiVersion"] == "admission.k8s.io/v1" and answer["kind"] == "AdmissionReview", "the envelope")
    _must(made["uid"] == review["request"]["uid"], "the uid")
    warnings = made.get("warnings", [])
    _must(all(each.isprintable() and len(each) <= 256 for each in warnings), "a warning that is not a line")
    if not made["allowed"]:
        _check_denial(made)
    _must(SECRET not in json.dumps([warnings, made.get("status")]), "a secret")
    reason: str = made["auditAnnotations"]["reason"]
    if "patch" in made:
        _must(path == "/mutate" and made["allowed"] and made["patchType"] == "JSONPatch", "a patch out of place")
        _check_patch(client, config, review, json.loads(base64.b64decode(made["patch"])), reason)
    return reason


def _check_denial(made: Json) -> None:
    status = made["status"]
    _must("patch" not in made, "a patch in a denial")
    _must(status["code"] in (403, 422), f"code {status['code']}: {status['message']}")
    message = status["message"]
    _must(message and message.isprintable() and len(message.encode()) <= 1024, f"the message {message!r}")


def _check_patch(client: Client, config: AdmissionConfig, review: Json, operations: list[Json], reason: str) -> None:
    before = review["request"]["object"]
    for operation in operations:
        _must(operation["op"] == "add" and bool(_OURS.fullmatch(operation["path"])), f"the operation {operation}")
        path = operation["path"]
        there = None if path.endswith("/-") else jsonpointer.resolve_pointer(before, path, None)
        if path.endswith("/resourceClaimName"):
            # On a copy: the name that the webhook gave to the claim of the first pod.
            _must(claim_names.is_from_review(there), f"a claim of the user renamed by {operation}")
        elif "llmfit.ai" not in path:
            _must(there is None, f"a replacement by {operation}")
    after = jsonpatch.apply_patch(copy.deepcopy(before), operations)
    again = copy.deepcopy(review)
    again["request"] |= {"object": after, "uid": "another-uid"}
    second = client.post("/mutate", data=orjson.dumps(again), content_type="application/json").json
    _must(second is not None and "patch" not in second["response"], f"a second patch after {operations}")
    third = client.post("/validate", data=orjson.dumps(again), content_type="application/json").json
    _must(third is not None and third["response"]["allowed"], f"the validating webhook denies our own output: {third}")
    if reason == Reason.INJECTED and any("injected-into" in operation["path"] for operation in operations):
        metadata = after["metadata"] | {"name": "pod", "namespace": "ns", "uid": "pod-uid"}
        claim: Json | None = claims.build_pod_claim({**after, "metadata": metadata}, config)
        _must(claim is not None, "an injected pod without a claim")
        if claim is not None:
            entries = [each for each in after["spec"]["resourceClaims"] if isinstance(each, dict)]
            name = next(each["resourceClaimName"] for each in entries if each.get("name") == "modelfit")
            _must(claim["metadata"]["name"] == name and claim_names.is_from_review(name), f"the name {name}")
            _must(name not in json.dumps(before), "a claim name that the pod had before")
            json.dumps(claim, ensure_ascii=False).encode()
            _must("adminAccess" not in json.dumps(claim["spec"]), "adminAccess")


def _must(holds: object, what: str) -> None:
    if not holds:
        raise ViolationError(what)
