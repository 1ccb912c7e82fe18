"""The whole decision, without I/O. `mutate` and `validate` read as tables of contents; webhook and CLI both call them.

They answer every review that `review.parse` accepts; only an object whose JSON is no pod's raises MalformedCall.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from webhook import constants
from webhook.core import claims
from webhook.core.admission import injection_record, memory_requests, pod_rules, pod_templates, pods, target_containers
from webhook.core.admission.json_patch import Operation, inject
from webhook.core.admission.pod_templates import Template
from webhook.core.admission.pods import Container, Pod
from webhook.core.admission.review import JsonObject, Review
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import device_request
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.fits import quantities
from webhook.errors import Denied, FieldError, MalformedCall, quote_all
from webhook.reasons import Reason

T = TypeVar("T")

MAX_WARNING = 256
"""Characters; the API server may cut longer warnings."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer as a value. `message` is empty unless refused, and says all `faults`; `claim` is the companion's
    name."""

    allowed: bool
    reason: Reason
    patch: tuple[Operation, ...] = ()
    warnings: tuple[str, ...] = ()
    message: str = ""
    faults: tuple[FieldError, ...] = ()
    claim: str | None = None


@dataclass(frozen=True, slots=True)
class InjectionPlan:
    """What an acceptable pod asks for, and where it goes."""

    device_request: DeviceRequest
    containers: Sequence[Container]
    warnings: list[str]
    fills_memory: bool = False
    """Whether the first container gets a memory request: the operator wants it, and nobody said anything of memory."""


def mutate(review: Review, config: AdmissionConfig) -> Decision:
    """The patch for a pod that is being created."""
    if review.subresource:
        return _leave(Reason.SUBRESOURCE)
    if not review.is_pod:
        return _leave(Reason.NOT_A_POD)
    if review.operation != "CREATE":
        return _leave(Reason.NOT_A_CREATE)
    pod = _pod(review)
    exempt = _exempt(pod)
    if exempt:
        return _leave(exempt, pod_rules.ignored_annotations(pod) if exempt is Reason.NOT_ANNOTATED else ())
    try:
        plan = _examine(review, pod, config)
    except Denied as refusal:
        return _deny(refusal)
    return _inject(review, pod, plan, config)


def validate(review: Review, config: AdmissionConfig) -> Decision:
    """Whether the annotation of a pod, or of a workload's pod template, can be used; and whether a pod that needs a
    claim has one."""
    if review.subresource:
        return _leave(Reason.SUBRESOURCE)
    template = None if review.is_pod else pod_templates.path(review.group, review.kind)
    if not (review.is_pod or template):
        return _leave(Reason.NOT_A_POD)
    if review.operation not in ("CREATE", "UPDATE"):
        return _leave(Reason.NOT_A_CREATE)
    return _validate_template(review, template, config) if template else _validate_pod(review, config)


def _exempt(pod: Pod) -> Reason | None:
    """Why a pod is left alone; None where it is not."""
    annotations = pod.annotations
    if constants.MODEL_FIT not in annotations:
        return Reason.NOT_ANNOTATED
    if pod.labels.get(constants.INJECT) == constants.INJECT_DISABLED:
        return Reason.DISABLED
    if constants.MIRROR_POD in annotations:
        return Reason.MIRROR_POD
    return Reason.BEING_DELETED if pod.being_deleted else None


def _examine(review: Review, pod: Pod, config: AdmissionConfig) -> InjectionPlan:
    """The plan for a pod. Raises one Refusal with the faults of every rule."""
    found: list[tuple[Reason, FieldError]] = []
    asked = _collect(lambda: device_request.from_annotations(pod.annotations, config), found)
    containers = _collect(lambda: target_containers.choose(pod), found)
    warnings = [*pod_rules.misspelled(pod), *(asked.requirements.warnings if asked else ())]
    if not review.namespace:
        fault = FieldError("request.namespace", "none", "the namespace that the pod is created in")
        found.append((Reason.NO_NAMESPACE, fault))
    if asked is None or not asked.requirements.cpu_only:
        found += [(Reason.NODE_NAME_SET, fault) for fault in pod_rules.node_name(pod)]
        found += [(Reason.ALIAS_TAKEN, fault) for fault in pod_rules.alias(pod)]
        ours = {container.path for container in containers or ()}
        everyone = pod.containers + pod.init_containers
        conflicts = list(pod_rules.device_plugin_requests([each for each in everyone if each.path in ours]))
        if config.device_plugin_requests == "deny":
            found += [(Reason.DEVICE_PLUGIN_REQUEST, fault) for fault in conflicts]
            conflicts = []
        conflicts += pod_rules.device_plugin_requests([each for each in everyone if each.path not in ours])
        warnings += map(str, conflicts)
        warnings += pod_rules.foreign_scheduler(pod)
    else:
        found += [(Reason.ALIAS_TAKEN, fault) for fault in pod_rules.unexpected_claim(pod)]
        warnings += pod_rules.idle_device_count(pod)
    if found or asked is None or containers is None:
        raise Denied(found[0][0], [fault for _, fault in found])
    if config.device_count_variable and len(asked.counts) > 1:
        warnings.append(f"{config.device_count_variable} is not set: the scheduler chooses among the device counts")
    if config.memory_requests == "fill":
        said = memory_requests.existing_requests(pod, containers[0])
        warnings += memory_requests.below_requirement(said, asked.requirements)
        return InjectionPlan(asked, containers, warnings, fills_memory=not said)
    return InjectionPlan(asked, containers, warnings)


def _collect(step: Callable[[], T], found: list[tuple[Reason, FieldError]]) -> T | None:
    """The step's value; where it is refused, its faults go to `found`, so that the other steps' are shown too."""
    try:
        return step()
    except Denied as refusal:
        found += [(refusal.reason, fault) for fault in refusal.faults]
        return None


def _inject(review: Review, pod: Pod, plan: InjectionPlan, config: AdmissionConfig) -> Decision:
    requirements = plan.device_request.requirements
    record = injection_record.record(pod, review.namespace, requirements)
    again = injection_record.already_injected(pod, record)
    claim, warnings = None, list(plan.warnings)
    if not requirements.cpu_only:
        entry = pods.alias_entry(pod)
        if entry and again:
            claim = str(entry["resourceClaimName"])
        else:
            claim = claims.claim_names.from_review(requirements, review.uid)
            warnings[:0] = pod_rules.stale_claim(entry)
    # Another webhook may have put a container first since, which is not the one that was chosen then.
    filled = requirements.memory_quantity if plan.fills_memory and not again else None
    patch = inject(pod, record, claim, plan.containers, filled, _told(plan.device_request, config))
    if patch:
        warnings.insert(0, f"modelfit: {_summary(plan, f'claim {claim}')}")
    reason = Reason.CPU_ONLY if claim is None else Reason.INJECTED if patch else Reason.ALREADY_INJECTED
    return Decision(True, reason, tuple(patch), _cut(warnings), claim=claim)


def _told(asked: DeviceRequest, config: AdmissionConfig) -> tuple[str, str] | None:
    """The number of devices as an environment variable, if the operator wants it told. Of several numbers that would
    do the scheduler chooses one, long after the container's environment is fixed."""
    name = config.device_count_variable
    if name is None or asked.requirements.cpu_only or len(asked.counts) > 1:
        return None
    return name, str(asked.counts[0])


def _summary(plan: InjectionPlan, claim: str) -> str:
    """What is injected. `claim` says of the claim what can be said of it, where one is needed."""
    requirements = plan.device_request.requirements
    request = (
        f"; memory request {requirements.memory_quantity}" if plan.fills_memory and requirements.memory_quantity else ""
    )
    if requirements.cpu_only:
        return f"no GPU is needed, so no claim is made{request}"
    where = quote_all((container.name for container in plan.containers), 3)
    context = f", for a context of {requirements.context} tokens" if requirements.context else ""
    devices, amount = _devices(plan.device_request), _amount(plan.device_request)
    return f"{claim} for {where}: {devices} (gpu.memory {amount}{context}){request}"


def _amount(asked: DeviceRequest) -> str:
    """`8Gi`; `8Gi, 4Gi each` on two devices; `8Gi in all` where their number is not known yet."""
    total, (count, *others) = asked.requirements.gpu_memory_quantity, asked.counts
    if others:
        return f"{total} in all"
    return total if count == 1 else f"{total}, {quantities.canonical(asked.mebibytes_per_device(count))} each"


def _devices(asked: DeviceRequest) -> str:
    """`gpu.nvidia.com`, `2 devices of gpu.nvidia.com`, `1, 2 or 4 devices of …`."""
    classes = " or ".join(dict.fromkeys(name for count in asked.counts for name in asked.profile.classes_for(count)))
    if asked.counts == (1,):
        return classes
    *fewer, most = map(str, asked.counts)
    return f"{', '.join(fewer)}{' or ' if fewer else ''}{most} devices of {classes}"


def _validate_pod(review: Review, config: AdmissionConfig) -> Decision:
    pod = _pod(review)
    exempt = _exempt(pod)
    if exempt:
        return _leave(exempt)
    try:
        if review.operation == "UPDATE":
            return _validate_update(review, pod, config)
        plan = _examine(review, pod, config)
    except Denied as refusal:
        return _deny(refusal)
    missing = [] if plan.device_request.requirements.cpu_only else list(pod_rules.missing_parts(pod, plan.containers))
    return _not_injected(missing, config) if missing else Decision(True, Reason.VALID)


def _validate_update(review: Review, pod: Pod, config: AdmissionConfig) -> Decision:
    """A pod's claims are fixed when it is created, so an update is looked at only for its annotation."""
    old = pods.view(review.old_object or {}).annotations
    if old.get(constants.MODEL_FIT) == pod.annotations[constants.MODEL_FIT]:
        return _leave(Reason.ANNOTATION_UNCHANGED)
    device_request.from_annotations(pod.annotations, config)
    if pod_rules.is_ours(pods.alias_entry(pod)):
        told = "a pod's claim is made once; this change does not resize it"
    else:
        path = device_request.annotation_path(constants.MODEL_FIT)
        told = f"{path} does nothing on a pod that exists already; create the pod anew"
    return Decision(True, Reason.VALID, warnings=(f"modelfit: {told}",))


def _validate_template(review: Review, steps: tuple[str, ...], config: AdmissionConfig) -> Decision:
    """A template must be one whose pods would be injected. That they are is seen when they are created."""
    template = pod_templates.view(steps, _object(review))
    try:
        exempt = _exempt_template(review, template, steps)
        if exempt:
            misplaced = exempt is Reason.NOT_ANNOTATED and _newly_misplaced(review, template, steps)
            return _leave(exempt, template.told(review.kind, template.directions()) if misplaced else ())
        plan = _examine(review, template.pod, config)
    except Denied as refusal:
        return _deny(template.refused(refusal))
    except MalformedCall as malformed:
        raise MalformedCall(template.located(str(malformed))) from None
    warnings = map(template.located, [_summary(plan, "each pod gets a claim"), *plan.warnings])
    return Decision(True, Reason.VALID, warnings=_cut(template.told(review.kind, warnings)))


def _newly_misplaced(review: Review, template: Template, steps: tuple[str, ...]) -> bool:
    """Whether somebody has just put the annotation where no pod gets it. A workload that another one made has that
    one's annotations."""
    if template.being_deleted or template.is_made:
        return False
    return (
        review.operation == "CREATE"
        or template.misplaced != pod_templates.view(steps, review.old_object or {}).misplaced
    )


def _exempt_template(review: Review, template: Template, steps: tuple[str, ...]) -> Reason | None:
    """Why a template is left alone; None where it is not. One that is kept as it is stays in use, whatever is wrong
    with it: a rule of ours that came later must not keep a workload from being scaled."""
    exempt = _exempt(template.pod)
    if exempt:
        return exempt
    if template.being_deleted:
        return Reason.BEING_DELETED
    if template.is_made:
        return Reason.MADE_BY_A_WORKLOAD
    if review.operation == "UPDATE":
        old = pod_templates.view(steps, review.old_object or {})
        if not _exempt(old.pod) and old.ours == template.ours:
            return Reason.ANNOTATION_UNCHANGED
    return None


def _not_injected(missing: Sequence[FieldError], config: AdmissionConfig) -> Decision:
    if config.uninjected_pods == "warn":
        return Decision(True, Reason.NOT_INJECTED, warnings=_cut(f"modelfit: {fault}" for fault in missing))
    return _deny(Denied(Reason.NOT_INJECTED, missing))


def _pod(review: Review) -> Pod:
    return pods.view(_object(review))


def _object(review: Review) -> JsonObject:
    if review.object is None:
        raise MalformedCall(f"request.object: want the {review.kind}")
    return review.object


def _leave(reason: Reason, warnings: Iterable[str] = ()) -> Decision:
    return Decision(True, reason, warnings=_cut(warnings))


def _deny(refusal: Denied) -> Decision:
    return Decision(False, refusal.reason, message=str(refusal), faults=refusal.faults)


def _cut(warnings: Iterable[str]) -> tuple[str, ...]:
    return tuple(each if len(each) <= MAX_WARNING else f"{each[: MAX_WARNING - 3]}..." for each in warnings)
