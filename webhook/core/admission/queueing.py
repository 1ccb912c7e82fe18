"""Warnings about queueing systems that do not see, or refuse, the claims of injected pods.

Observed with Kueue 0.19.2 and Volcano 1.15.1. Both count a ResourceClaimTemplate, which `modelfit convert` writes.
"""

from collections.abc import Iterator

from webhook import constants
from webhook.core.admission.pod_templates import Template
from webhook.core.admission.pods import Pod
from webhook.errors import quote
from webhook.json_tree import get_object, strict_list

KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
"""Label of workloads and pods that Kueue admits."""
KUEUE_GATE = "kueue.x-k8s.io/admission"
"""Scheduling gate of a pod that Kueue has not admitted yet."""

DEFAULT_SCHEDULER = "default-scheduler"
VOLCANO = "volcano"

_KUEUE_POD = (
    f"Kueue leaves the pod gated: it refuses claims by name; remove the label {KUEUE_QUEUE}, "
    f"or replace {constants.MODEL_FIT} by modelfit convert --kind template"
)
_KUEUE_JOB = (
    "Kueue does not count the GPU: the pods get their claims after it admits the Job; "
    f"replace {constants.MODEL_FIT} by modelfit convert --kind template"
)


def pod_warnings(pod: Pod) -> Iterator[str]:
    """Warnings for a pod that gets a claim."""
    gates = strict_list(pod.spec, "schedulingGates", "spec")
    gated = any(isinstance(gate, dict) and gate.get("name") == KUEUE_GATE for gate in gates)
    if gated or KUEUE_QUEUE in pod.labels:
        yield _KUEUE_POD
    yield from _scheduler_warnings(pod)


def workload_warnings(group: str, template: Template) -> Iterator[str]:
    """Warnings for a workload of this API group whose pods get claims. Kueue admits a Job with its label as a whole. Of
    other workloads it admits the pods, to which it copies the label."""
    labelled = any(KUEUE_QUEUE in get_object(each, "labels") for each in template.enclosing_metadata.values())
    if not labelled:
        yield from pod_warnings(template.pod)
        return
    yield _KUEUE_JOB if group == "batch" else _KUEUE_POD
    yield from _scheduler_warnings(template.pod)


def _scheduler_warnings(pod: Pod) -> Iterator[str]:
    name = pod.spec.get("schedulerName")
    if name == VOLCANO:
        # volcano-sh/volcano#5997: a missing claim that the pod names is an error, after which the task is forgotten.
        yield (
            f"spec.schedulerName is {quote(name)}: Volcano 1.15 forgets pods whose claim comes later; "
            "set its --resync-period, or use modelfit convert --kind template"
        )
    elif name and name != DEFAULT_SCHEDULER:
        yield f"spec.schedulerName is {quote(name)}: the pod stays pending if that scheduler does not allocate claims"
