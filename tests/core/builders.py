"""Builds fits, pods, workloads and reviews as an API server sends them; applies patches with an independent library."""

import copy
import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeAlias

import jsonpatch

from webhook.core.admission import decide, review
from webhook.core.admission.decision import Decision
from webhook.core.admission.review import Review
from webhook.core.admission_config import AdmissionConfig
from webhook.core.fits.requirements import ModelRequirements

Json: TypeAlias = dict[str, Any]
"""A decoded JSON object."""

FIT = '{"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 8}'
"""The example in llmfit's documentation."""
CPU_FIT = '{"model": "tiny", "estimated_vram_gb": 0, "estimated_memory_gb": 4}'

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
CLAIM = "llama-7b-claim-58989f2cda"
"""The claim of FIT in a review with UID; the digits are `printf UID | sha256sum | cut -c1-10`."""


class _Marker(Enum):
    REMOVED = "removed"


REMOVED = _Marker.REMOVED
"""As a value of a keyword of `pod` and `container`: the member is left out."""


def container(name: str = "server", **members: object) -> Json:
    """A container that the schema of Kubernetes accepts."""
    return _without_removed({"name": name, "image": "registry.example/llama:1"} | members)


def pod(
    fit: str | None = FIT,
    *,
    annotations: Mapping[str, object] | None = None,
    metadata: Mapping[str, object] | None = None,
    containers: Iterable[Json] | None = None,
    **spec: object,
) -> Json:
    """A Pod with the fit as its annotation. `spec` are members of its spec."""
    merged = ({} if fit is None else {"llmfit.ai/model-fit": fit}) | dict(annotations or {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _without_removed({"name": "llama", "annotations": merged} | dict(metadata or {})),
        "spec": _without_removed({"containers": [container()] if containers is None else list(containers)} | spec),
    }


WORKLOADS = {
    "Deployment": "apps", "StatefulSet": "apps", "DaemonSet": "apps", "ReplicaSet": "apps",
    "ReplicationController": "", "Job": "batch", "CronJob": "batch",
}  # fmt: skip
"""API groups of the workload kinds."""


def workload(kind: str, template: Json | None = None, **metadata: object) -> Json:
    """A workload whose pod template is `template`, a pod."""
    copied = copy.deepcopy(pod() if template is None else template)
    spec: Json = {"template": {"metadata": copied["metadata"], "spec": copied["spec"]}}
    if kind == "CronJob":
        spec = {"schedule": "0 4 * * *", "jobTemplate": {"spec": spec}}
    group = WORKLOADS[kind]
    version = f"{group}/v1" if group else "v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "llama"} | metadata, "spec": spec}


def kind_of(target: Json) -> dict[str, str]:
    """The kind of an object, as in a review."""
    group, _, version = target["apiVersion"].rpartition("/")
    return {"group": group, "version": version, "kind": target["kind"]}


def body(
    target: Json | None,
    *,
    uid: object = UID,
    namespace: object = "team-a",
    operation: object = "CREATE",
    kind: Mapping[str, str] | None = None,
    old: object = None,
    **request: object,
) -> Json:
    """A decoded AdmissionReview. `request` are members of its request."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": dict(kind or {"group": "", "version": "v1", "kind": "Pod"}),
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": operation,
            "namespace": namespace,
            "userInfo": {"username": "alice"},
            "object": copy.deepcopy(target),
            "oldObject": old,
            "dryRun": False,
        }
        | request,
    }


def parse_review(target: Json | None, **parts: Any) -> Review:
    """The parsed review of `body`."""
    return review.parse(body(target, **parts))


def mutate(target: Json, config: AdmissionConfig | None = None, **parts: Any) -> Decision:
    """The mutating webhook's decision."""
    return decide.mutate(parse_review(target, **parts), config or AdmissionConfig())


def validate(target: Json, config: AdmissionConfig | None = None, **parts: Any) -> Decision:
    """The validating webhook's decision."""
    return decide.validate(parse_review(target, **parts), config or AdmissionConfig())


def patched(target: Json, decision: Decision) -> Json:
    """The object with the patch of the decision applied, which is serialized to JSON as on the wire."""
    operations = json.loads(json.dumps(decision.patch))
    result: Json = jsonpatch.apply_patch(copy.deepcopy(target), operations)
    return result


def admitted(target: Json, config: AdmissionConfig | None = None, **parts: Any) -> Json:
    """The pod after the mutating webhook, which must allow it."""
    decision = mutate(target, config, **parts)
    assert decision.allowed, decision.message
    return patched(target, decision)


def amounts(requirements: ModelRequirements) -> tuple[object, object]:
    """GPU memory and system memory in GiB."""
    return requirements.gpu_memory, requirements.memory


def fit(**members: object) -> str:
    """A ModelFit as text."""
    return json.dumps(members)


def raw(**members: str) -> str:
    """A ModelFit whose values are given as text, which need not be valid JSON."""
    return "{" + ", ".join(f'"{key}": {value}' for key, value in members.items()) + "}"


def _without_removed(members: Json) -> Json:
    return {key: value for key, value in members.items() if value is not REMOVED}
