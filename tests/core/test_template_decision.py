"""The validating webhook on workloads: their pod templates follow the rules for pods."""

import copy
from typing import Any

import pytest

from tests.core import builders
from tests.core.builders import CPU_FIT, WORKLOADS, Json, container, kind_of, mutate, pod, workload
from tests.core.test_denials import CASES
from webhook.core.admission.decision import Decision
from webhook.core.admission_config import AdmissionConfig
from webhook.reasons import Reason

INVALID = pod("{")
CONDITION = " unless a LimitRange or another webhook sets one"
SUMMARY = f'each pod gets a claim for "server": gpu.nvidia.com (gpu.memory 8Gi); memory request 12Gi{CONDITION}'


def validate(target: Json, config: AdmissionConfig | None = None, **parts: Any) -> Decision:
    """The decision of the validating webhook on a workload that is created."""
    return builders.validate(target, config, **({"kind": kind_of(target)} | parts))


def update(old: Json | None, new: Json) -> Decision:
    """The decision on an update."""
    return validate(new, operation="UPDATE", old=old)


def template_path(kind: str) -> str:
    return "spec.jobTemplate.spec.template" if kind == "CronJob" else "spec.template"


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_valid_template_is_allowed_with_a_summary(kind: str) -> None:
    warning = f"modelfit: {kind} llama: {SUMMARY}"
    assert validate(workload(kind)) == Decision(True, Reason.VALID, warnings=(warning,))


@pytest.mark.parametrize("kind", WORKLOADS)
def test_an_invalid_template_is_denied_with_its_path_in_the_workload(kind: str) -> None:
    decision = validate(workload(kind, INVALID))
    assert (decision.allowed, decision.reason, decision.patch) == (False, Reason.INVALID_MODEL_FIT, ())
    assert decision.message.startswith(f"{template_path(kind)}.metadata.annotations[llmfit.ai/model-fit]: ")


@pytest.mark.parametrize("name", CASES)
def test_a_template_is_denied_for_the_same_reasons_as_a_pod(name: str) -> None:
    target, reason, code, _ = CASES[name]
    decision = validate(workload("Deployment", target))
    assert (decision.allowed, decision.reason, decision.reason.code) == (False, reason, code)
    paths = ("spec.template.metadata.annotations[llmfit.ai/", "spec.template.spec.", "spec.template.metadata.a")
    assert decision.message.startswith(paths)
    assert len(decision.message.encode()) <= 1024


def test_every_error_has_its_path_in_the_workload() -> None:
    decision = validate(workload("CronJob", pod("{", nodeName="n1", annotations={"llmfit.ai/containers": "x"})))
    paths = [error.partition(": ")[0] for error in decision.message.split("; and ")]
    assert paths == [
        f"{template_path('CronJob')}.{rest}"
        for rest in (
            "metadata.annotations[llmfit.ai/model-fit]",
            "metadata.annotations[llmfit.ai/containers]",
            "spec.nodeName",
        )
    ]


def test_a_template_needs_no_claim() -> None:
    assert mutate(pod()).patch
    assert validate(workload("Deployment"), AdmissionConfig(uninjected_pods="deny")).allowed


def test_the_warnings_for_a_pod_have_their_paths_in_the_workload() -> None:
    target = pod(
        '{"min_vram_gb": null, "min_ram_gb": 8}',
        containers=[container(resources={"limits": {"memory": "1Gi"}})],
        schedulerName="volcano",
    )
    warnings = validate(workload("StatefulSet", target)).warnings
    summary, fit, memory, scheduler = (each.removeprefix("modelfit: StatefulSet llama: ") for each in warnings)
    assert summary == 'each pod gets a claim for "server": gpu.nvidia.com (gpu.memory 8Gi)'
    assert fit.startswith("min_vram_gb is null")
    assert scheduler.startswith('spec.template.spec.schedulerName is "volcano"')
    assert memory.startswith("spec.template.spec.containers[0].resources.limits.memory is less than the 8Gi")


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("web-1.a", "Deployment web-1.a"),
        ("x" * 63, f"Deployment {'x' * 63}"),
        ("x" * 253, f'Deployment "{"x" * 64}"...'),
        ("\x1b[31m", 'Deployment "\\u001b[31m"'),
        ("a: b", 'Deployment "a: b"'),
        ("", "Deployment"),
        (None, "Deployment"),
        (["a"], "Deployment \"['a']\""),
    ],
)
def test_every_warning_names_the_workload(name: object, prefix: str) -> None:
    """kubectl prints equal warnings only once."""
    warnings = validate(workload("Deployment", pod(schedulerName="volcano"), name=name)).warnings
    assert len(warnings) == 2
    for warning in warnings:
        assert warning.startswith(f"modelfit: {prefix}: ")
        assert warning.isprintable()
        assert len(warning) <= 256


def test_the_summary_of_a_cpu_only_model_names_no_claim() -> None:
    decision = validate(workload("Job", pod(CPU_FIT, nodeName="n1")))
    summary = f"no GPU is needed, so no claim is made; memory request 4Gi{CONDITION}"
    assert decision.warnings == (f"modelfit: Job llama: {summary}",)


DISABLED = {"labels": {"llmfit.ai/inject": "disabled"}}
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def labelled(target: Json, labels: dict[str, str]) -> Json:
    return target | {"metadata": target["metadata"] | {"labels": labels}}


@pytest.mark.parametrize(
    ("target", "request_", "reason"),
    [
        (workload("Deployment", pod(None, nodeName="n1")), {}, Reason.NOT_ANNOTATED),
        (workload("Deployment", labelled(INVALID, DISABLED["labels"])), {}, Reason.DISABLED),
        (workload("Deployment", INVALID, **DELETED), {"operation": "UPDATE"}, Reason.BEING_DELETED),
        (workload("Deployment", INVALID), {"subResource": "scale"}, Reason.SUBRESOURCE),
        (workload("Deployment", INVALID), {"subResource": "status", "operation": "UPDATE"}, Reason.SUBRESOURCE),
        (workload("Deployment", INVALID), {"operation": "DELETE"}, Reason.OTHER_OPERATION),
        (workload("Deployment", INVALID) | {"apiVersion": "example.com/v1"}, {}, Reason.NOT_A_POD),
        (workload("CronJob", INVALID) | {"apiVersion": "v1"}, {}, Reason.NOT_A_POD),
        (workload("Job", INVALID) | {"kind": "JobSet"}, {}, Reason.NOT_A_POD),
    ],
    ids=lambda value: value.value if isinstance(value, Reason) else None,
)
def test_an_exempt_workload_is_allowed(target: Json, request_: Json, reason: Reason) -> None:
    assert validate(target, **request_) == Decision(True, reason)
    assert mutate(target, kind=kind_of(target)).patch == ()


def test_a_workload_is_exempt_only_by_what_its_pods_inherit() -> None:
    assert not validate(workload("Deployment", INVALID, **DISABLED)).allowed
    assert not validate(workload("Deployment", pod("{", metadata=DELETED))).allowed
    assert not validate(workload("Deployment", pod("{"), annotations={"llmfit.ai/inject": "disabled"})).allowed


def owned(kind: str, version: str, controller: object = True) -> list[Json]:
    return [{"apiVersion": "v1", "kind": "ConfigMap"}, {"apiVersion": version, "kind": kind, "controller": controller}]


@pytest.mark.parametrize(
    ("kind", "owners", "exempt"),
    [
        ("ReplicaSet", owned("Deployment", "apps/v1"), True),
        ("Job", owned("CronJob", "batch/v1"), True),
        ("ReplicaSet", owned("Rollout", "argoproj.io/v1alpha1"), False),
        ("Job", owned("JobSet", "jobset.x-k8s.io/v1alpha2"), False),
        ("ReplicaSet", owned("Deployment", "example.com/v1"), False),
        ("ReplicaSet", owned("Deployment", "apps/v1", controller=False), False),
        ("ReplicaSet", owned("Deployment", "apps/v1", controller=None), False),
        ("ReplicaSet", [{"controller": True}, None, "x", {"controller": True, "apiVersion": 1, "kind": "x"}], False),
        ("ReplicaSet", [{"controller": True, "apiVersion": "apps/v1", "kind": {}}], False),
        ("ReplicaSet", None, False),
    ],
)
def test_a_workload_that_another_workload_owns_is_exempt(kind: str, owners: object, exempt: bool) -> None:
    decision = validate(workload(kind, INVALID, ownerReferences=owners))
    assert decision.reason == (Reason.MADE_BY_A_WORKLOAD if exempt else Reason.INVALID_MODEL_FIT)
    assert decision.allowed is exempt


def test_a_workload_with_an_invalid_annotation_can_still_be_updated() -> None:
    for kind in WORKLOADS:
        old = workload(kind, INVALID)
        new = copy.deepcopy(old)
        new["spec"]["replicas"] = 7
        new["metadata"]["finalizers"] = []
        template = new["spec"]["jobTemplate"]["spec"]["template"] if kind == "CronJob" else new["spec"]["template"]
        template["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] = "now"
        template["spec"]["nodeName"] = "n1"
        assert update(old, new) == Decision(True, Reason.ANNOTATION_UNCHANGED)


CHANGES: dict[str, tuple[Json, Json]] = {
    "the fit": (pod(), INVALID),
    "the fit of an invalid one": (pod("]"), INVALID),
    "a new fit": (pod(None), INVALID),
    "an empty fit": (pod(None), pod("")),
    "the containers": (pod(), pod(annotations={"llmfit.ai/containers": "x"})),
    "the profile": (
        pod(annotations={"llmfit.ai/profile": "amd"}),
        pod(annotations={"llmfit.ai/profile": "unknown"}),
    ),
    "no containers named": (pod(), pod(annotations={"llmfit.ai/containers": ""})),
    "the device count": (pod(), pod(annotations={"llmfit.ai/device-count": "0"})),
    "no longer disabled": (labelled(INVALID, DISABLED["labels"]), INVALID),
    "no longer a mirror pod": (pod("{", annotations={"kubernetes.io/config.mirror": "x"}), INVALID),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_update_to_an_invalid_annotation_is_denied(name: str) -> None:
    old, new = CHANGES[name]
    for kind in WORKLOADS:
        assert not update(workload(kind, old), workload(kind, new)).allowed


MISPLACED = {"annotations": {"llmfit.ai/model-fit": "{}"}}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_an_annotation_outside_the_template_is_warned_about(kind: str) -> None:
    warning = (
        f"metadata.annotations[llmfit.ai/model-fit]: pods do not inherit it; move it to {template_path(kind)}.metadata"
    )
    for target in (workload(kind, pod(None), **MISPLACED), workload(kind, pod(None, metadata={}), **MISPLACED)):
        decision = validate(target)
        assert (decision.allowed, decision.reason) == (True, Reason.NOT_ANNOTATED)
        assert decision.warnings == (f"modelfit: {kind} llama: {warning}.annotations",)
        assert update(workload(kind, pod(None)), target).warnings == decision.warnings
        assert update(workload(kind), target).warnings == decision.warnings
        assert update(target, target).warnings == ()


def test_an_annotation_on_the_job_template_of_a_cron_job_is_warned_about() -> None:
    target = workload("CronJob", pod(None), **MISPLACED)
    target["spec"]["jobTemplate"]["metadata"] = MISPLACED
    own, jobs = validate(target).warnings
    where = (
        "modelfit: CronJob llama: spec.jobTemplate.metadata.annotations[llmfit.ai/model-fit]: pods do not inherit it"
    )
    assert own.startswith("modelfit: CronJob llama: metadata.annotations[llmfit.ai/model-fit]: ")
    assert jobs.startswith(where)
    assert jobs.endswith("move it to spec.jobTemplate.spec.template.metadata.annotations")


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (workload("Deployment", **MISPLACED), Reason.VALID),
        (workload("Deployment", labelled(pod(), DISABLED["labels"]), **MISPLACED), Reason.DISABLED),
        (workload("Deployment", pod(None), **MISPLACED, **DELETED), Reason.NOT_ANNOTATED),
        (workload("Deployment", pod(None), **MISPLACED, **DISABLED), Reason.NOT_ANNOTATED),
        (
            workload("ReplicaSet", pod(None), **MISPLACED, ownerReferences=owned("Deployment", "apps/v1")),
            Reason.NOT_ANNOTATED,
        ),
        (workload("Deployment", pod(None), annotations={"llmfit.ai/profile": "amd"}), Reason.NOT_ANNOTATED),
        (workload("Deployment", pod(None), annotations="llmfit.ai/model-fit"), Reason.NOT_ANNOTATED),
    ],
)
def test_an_annotation_that_is_not_misplaced_is_not_warned_about(target: Json, reason: Reason) -> None:
    decision = validate(target)
    assert decision.reason == reason
    assert not [warning for warning in decision.warnings if "pods do not inherit it" in warning]


def test_an_update_without_the_old_object_is_checked() -> None:
    assert not update(None, workload("Deployment", INVALID)).allowed
    assert update(None, workload("Deployment")).warnings == (f"modelfit: Deployment llama: {SUMMARY}",)


def test_an_update_that_removes_the_annotation_is_allowed() -> None:
    decision = update(workload("Deployment", INVALID), workload("Deployment", pod(None)))
    assert decision == Decision(True, Reason.NOT_ANNOTATED)
