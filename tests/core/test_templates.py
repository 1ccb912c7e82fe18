"""The pod templates of workloads are looked at as a pod of theirs would be, so that `kubectl apply` shows the error."""

import copy
from typing import Any

import pytest

from tests.core import builders
from tests.core.builders import CPU_FIT, WORKLOADS, Json, container, kind_of, mutate, pod, workload
from tests.core.test_refusals import CASES
from webhook.core.admission.decision import Decision
from webhook.core.admission_config import AdmissionConfig
from webhook.reasons import Reason

BAD = pod("{")
SUMMARY = 'each pod gets a claim for "server": gpu.nvidia.com (gpu.memory 8Gi); memory request 12Gi'


def validate(target: Json, config: AdmissionConfig | None = None, **parts: Any) -> Decision:
    """The validating webhook's decision on a workload."""
    return builders.validate(target, config, **({"kind": kind_of(target)} | parts))


def update(old: Json | None, new: Json) -> Decision:
    """The same, of its update."""
    return validate(new, operation="UPDATE", old=old)


def root(kind: str) -> str:
    return "spec.jobTemplate.spec.template" if kind == "CronJob" else "spec.template"


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_template_that_can_be_used_is_allowed_and_said_to_be_so(kind: str) -> None:
    told = f"modelfit: {kind} llama: {SUMMARY}"
    assert validate(workload(kind)) == Decision(True, Reason.VALID, warnings=(told,))


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_template_that_cannot_be_used_is_refused_with_the_path_in_the_workload(kind: str) -> None:
    decision = validate(workload(kind, BAD))
    assert (decision.allowed, decision.reason, decision.patch) == (False, Reason.INVALID_MODEL_FIT, ())
    assert decision.message.startswith(f"{root(kind)}.metadata.annotations[llmfit.ai/model-fit]: ")


@pytest.mark.parametrize("name", CASES)
def test_the_rules_are_those_of_a_pod(name: str) -> None:
    target, reason, code, _ = CASES[name]
    decision = validate(workload("Deployment", target))
    assert (decision.allowed, decision.reason, decision.reason.code) == (False, reason, code)
    beginnings = ("spec.template.metadata.annotations[llmfit.ai/", "spec.template.spec.", "spec.template.metadata.a")
    assert decision.message.startswith(beginnings)
    assert len(decision.message.encode()) <= 1024


def test_all_faults_have_their_paths() -> None:
    decision = validate(workload("CronJob", pod("{", nodeName="n1", annotations={"llmfit.ai/containers": "x"})))
    paths = [fault.partition(": ")[0] for fault in decision.message.split("; and ")]
    assert paths == [
        f"{root('CronJob')}.{rest}"
        for rest in (
            "metadata.annotations[llmfit.ai/model-fit]",
            "metadata.annotations[llmfit.ai/containers]",
            "spec.nodeName",
        )
    ]


def test_what_only_a_pod_can_have_is_not_missed() -> None:
    assert mutate(pod()).patch
    assert validate(workload("Deployment"), AdmissionConfig(uninjected_pods="deny")).allowed


def test_the_warnings_of_a_pod_are_given_with_their_paths() -> None:
    doubtful = pod(
        '{"min_vram_gb": null, "min_ram_gb": 8}',
        containers=[container(resources={"limits": {"memory": "1Gi"}})],
        schedulerName="volcano",
    )
    warnings = validate(workload("StatefulSet", doubtful)).warnings
    summary, fit, scheduler, memory = (each.removeprefix("modelfit: StatefulSet llama: ") for each in warnings)
    assert summary == 'each pod gets a claim for "server": gpu.nvidia.com (gpu.memory 8Gi)'
    assert fit.startswith("min_vram_gb is null")
    assert scheduler.startswith('spec.template.spec.schedulerName is "volcano"')
    assert memory.startswith("spec.template.spec.containers[0].resources.limits.memory is less than the 8Gi")


@pytest.mark.parametrize(
    ("name", "called"),
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
def test_every_warning_names_the_workload(name: object, called: str) -> None:
    """So that kubectl, which prints no line twice, prints those of each."""
    warnings = validate(workload("Deployment", pod(schedulerName="volcano"), name=name)).warnings
    assert len(warnings) == 2
    for warning in warnings:
        assert warning.startswith(f"modelfit: {called}: ")
        assert warning.isprintable()
        assert len(warning) <= 256


def test_a_model_without_gpu_is_said_to_need_none() -> None:
    decision = validate(workload("Job", pod(CPU_FIT, nodeName="n1")))
    assert decision.warnings == ("modelfit: Job llama: no GPU is needed, so no claim is made; memory request 4Gi",)


DISABLED = {"labels": {"llmfit.ai/inject": "disabled"}}
ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def labelled(target: Json, labels: dict[str, str]) -> Json:
    return target | {"metadata": target["metadata"] | {"labels": labels}}


@pytest.mark.parametrize(
    ("target", "request_", "reason"),
    [
        (workload("Deployment", pod(None, nodeName="n1")), {}, Reason.NOT_ANNOTATED),
        (workload("Deployment", labelled(BAD, DISABLED["labels"])), {}, Reason.DISABLED),
        (workload("Deployment", BAD, **ENDING), {"operation": "UPDATE"}, Reason.BEING_DELETED),
        (workload("Deployment", BAD), {"subResource": "scale"}, Reason.SUBRESOURCE),
        (workload("Deployment", BAD), {"subResource": "status", "operation": "UPDATE"}, Reason.SUBRESOURCE),
        (workload("Deployment", BAD), {"operation": "DELETE"}, Reason.NOT_A_CREATE),
        (workload("Deployment", BAD) | {"apiVersion": "example.com/v1"}, {}, Reason.NOT_A_POD),
        (workload("CronJob", BAD) | {"apiVersion": "v1"}, {}, Reason.NOT_A_POD),
        (workload("Job", BAD) | {"kind": "JobSet"}, {}, Reason.NOT_A_POD),
    ],
    ids=lambda value: value.value if isinstance(value, Reason) else None,
)
def test_what_is_left_alone(target: Json, request_: Json, reason: Reason) -> None:
    assert validate(target, **request_) == Decision(True, reason)
    assert mutate(target, kind=kind_of(target)).patch == ()


def test_only_what_a_template_gives_its_pods_leaves_it_alone() -> None:
    assert not validate(workload("Deployment", BAD, **DISABLED)).allowed
    assert not validate(workload("Deployment", pod("{", metadata=ENDING))).allowed
    assert not validate(workload("Deployment", pod("{"), annotations={"llmfit.ai/inject": "disabled"})).allowed


def owned(kind: str, version: str, controller: object = True) -> list[Json]:
    return [{"apiVersion": "v1", "kind": "ConfigMap"}, {"apiVersion": version, "kind": kind, "controller": controller}]


@pytest.mark.parametrize(
    ("kind", "owners", "spared"),
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
def test_a_workload_that_a_workload_made_is_left_alone(kind: str, owners: object, spared: bool) -> None:
    decision = validate(workload(kind, BAD, ownerReferences=owners))
    assert decision.reason == (Reason.MADE_BY_A_WORKLOAD if spared else Reason.INVALID_MODEL_FIT)
    assert decision.allowed is spared


def test_a_workload_whose_annotation_could_never_be_used_can_still_be_updated() -> None:
    for kind in WORKLOADS:
        old = workload(kind, BAD)
        new = copy.deepcopy(old)
        new["spec"]["replicas"] = 7
        new["metadata"]["finalizers"] = []
        template = new["spec"]["jobTemplate"]["spec"]["template"] if kind == "CronJob" else new["spec"]["template"]
        template["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] = "now"
        template["spec"]["nodeName"] = "n1"
        assert update(old, new) == Decision(True, Reason.ANNOTATION_UNCHANGED)


CHANGES: dict[str, tuple[Json, Json]] = {
    "the fit": (pod(), BAD),
    "the fit of a bad one": (pod("]"), BAD),
    "a new fit": (pod(None), BAD),
    "an empty fit": (pod(None), pod("")),
    "the containers": (pod(), pod(annotations={"llmfit.ai/containers": "x"})),
    "the profile": (
        pod(annotations={"llmfit.ai/profile": "amd"}),
        pod(annotations={"llmfit.ai/profile": "nobody"}),
    ),
    "no containers named": (pod(), pod(annotations={"llmfit.ai/containers": ""})),
    "the device count": (pod(), pod(annotations={"llmfit.ai/device-count": "0"})),
    "no longer left alone": (labelled(BAD, DISABLED["labels"]), BAD),
    "no longer a mirror": (pod("{", annotations={"kubernetes.io/config.mirror": "x"}), BAD),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_update_to_what_cannot_be_used_is_refused(name: str) -> None:
    old, new = CHANGES[name]
    for kind in WORKLOADS:
        assert not update(workload(kind, old), workload(kind, new)).allowed


OUTSIDE = {"annotations": {"llmfit.ai/model-fit": "{}"}}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_an_annotation_around_the_template_is_said_to_belong_there(kind: str) -> None:
    told = f"metadata.annotations[llmfit.ai/model-fit]: pods do not inherit it; move it to {root(kind)}.metadata"
    for target in (workload(kind, pod(None), **OUTSIDE), workload(kind, pod(None, metadata={}), **OUTSIDE)):
        decision = validate(target)
        assert (decision.allowed, decision.reason) == (True, Reason.NOT_ANNOTATED)
        assert decision.warnings == (f"modelfit: {kind} llama: {told}.annotations",)
        assert update(workload(kind, pod(None)), target).warnings == decision.warnings
        assert update(workload(kind), target).warnings == decision.warnings
        assert update(target, target).warnings == ()


def test_an_annotation_on_the_jobs_of_a_cron_job_is_said_to_belong_in_their_template() -> None:
    target = workload("CronJob", pod(None), **OUTSIDE)
    target["spec"]["jobTemplate"]["metadata"] = OUTSIDE
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
        (workload("Deployment", **OUTSIDE), Reason.VALID),
        (workload("Deployment", labelled(pod(), DISABLED["labels"]), **OUTSIDE), Reason.DISABLED),
        (workload("Deployment", pod(None), **OUTSIDE, **ENDING), Reason.NOT_ANNOTATED),
        (workload("Deployment", pod(None), **OUTSIDE, **DISABLED), Reason.NOT_ANNOTATED),
        (
            workload("ReplicaSet", pod(None), **OUTSIDE, ownerReferences=owned("Deployment", "apps/v1")),
            Reason.NOT_ANNOTATED,
        ),
        (workload("Deployment", pod(None), annotations={"llmfit.ai/profile": "amd"}), Reason.NOT_ANNOTATED),
        (workload("Deployment", pod(None), annotations="llmfit.ai/model-fit"), Reason.NOT_ANNOTATED),
    ],
)
def test_nothing_is_said_of_an_annotation_that_is_not_misplaced(target: Json, reason: Reason) -> None:
    decision = validate(target)
    assert decision.reason == reason
    assert not [warning for warning in decision.warnings if "pods do not inherit it" in warning]


def test_an_update_without_the_old_object_is_looked_at() -> None:
    assert not update(None, workload("Deployment", BAD)).allowed
    assert update(None, workload("Deployment")).warnings == (f"modelfit: Deployment llama: {SUMMARY}",)


def test_an_update_that_takes_the_annotation_away_is_allowed() -> None:
    decision = update(workload("Deployment", BAD), workload("Deployment", pod(None)))
    assert decision == Decision(True, Reason.NOT_ANNOTATED)
