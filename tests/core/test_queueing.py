"""Warnings about queueing systems and other schedulers."""

import pytest

from tests.core.builders import CPU_FIT, WORKLOADS, Json, kind_of, mutate, pod, validate, workload
from webhook.reasons import Reason

QUEUE = {"labels": {"kueue.x-k8s.io/queue-name": "user-queue"}}
GATES = [{"name": "example.com/other"}, {"name": "kueue.x-k8s.io/admission"}]
POD_WARNING = "Kueue leaves the pod gated: it refuses claims by name; "
JOB_WARNING = "Kueue does not count the GPU: the pods get their claims after it admits the Job; "


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ("volcano", 'spec.schedulerName is "volcano": Volcano 1.15 forgets pods whose claim comes later; '),
        ("other", 'spec.schedulerName is "other": the pod stays pending if that scheduler does not allocate claims'),
        ("default-scheduler", None),
        ("", None),
        (None, None),
    ],
)
def test_another_scheduler_draws_a_warning(scheduler: str | None, expected: str | None) -> None:
    decision = mutate(pod(schedulerName=scheduler))
    assert decision.reason == Reason.INJECTED
    assert [each.startswith(expected or "") for each in decision.warnings[1:]] == [True] * (expected is not None)


@pytest.mark.parametrize(
    ("target", "warned"),
    [
        (pod(metadata=QUEUE), True),
        (pod(schedulingGates=GATES), True),
        (pod(metadata=QUEUE, schedulingGates=GATES), True),
        (pod(schedulingGates=GATES[:1]), False),
        (pod(metadata={"labels": {"app": "llama"}}), False),
        (pod(CPU_FIT, metadata=QUEUE, schedulingGates=GATES), False),
    ],
)
def test_a_pod_in_a_queue_of_kueue_draws_a_warning(target: Json, warned: bool) -> None:
    warnings = mutate(target).warnings[1:]
    assert [each.startswith(POD_WARNING) for each in warnings] == [True] * warned


def workload_warnings(target: Json) -> list[str]:
    name = target["metadata"]["name"]
    prefix = f"modelfit: {target['kind']} {name}: "
    return [each.removeprefix(prefix) for each in validate(target, kind=kind_of(target)).warnings[1:]]


@pytest.mark.parametrize("kind", WORKLOADS)
@pytest.mark.parametrize("place", ["workload", "template", "both"])
def test_a_workload_in_a_queue_of_kueue_draws_one_warning(kind: str, place: str) -> None:
    template = pod() if place == "workload" else pod(metadata=QUEUE)
    target = workload(kind, template, **({} if place == "template" else QUEUE))
    warnings = workload_warnings(target)
    expected = [POD_WARNING] if place == "template" or WORKLOADS[kind] != "batch" else [JOB_WARNING]
    assert [each[: len(start)] for each, start in zip(warnings, expected, strict=True)] == expected


def test_the_job_template_of_a_cron_job_may_have_the_label() -> None:
    target = workload("CronJob")
    target["spec"]["jobTemplate"]["metadata"] = QUEUE
    (warning,) = workload_warnings(target)
    assert warning.startswith(JOB_WARNING)
    target = workload("CronJob", pod(CPU_FIT), **QUEUE)
    assert workload_warnings(target) == []


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_warning_about_a_queue_is_not_truncated(kind: str) -> None:
    name = "n" * 40
    for target in (workload(kind, **QUEUE, name=name), workload(kind, pod(schedulerName="volcano"), name=name)):
        for warning in validate(target, kind=kind_of(target)).warnings:
            assert not warning.endswith("...")
            assert len(warning) <= 256
