"""The decision on a pod: exempt, denied, or injected."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from webhook import constants
from webhook.core.admission import pod_rules, pods, queueing, summary, target_containers
from webhook.core.admission.decision import Decision
from webhook.core.admission.json_patch import inject
from webhook.core.admission.pods import Container, Pod
from webhook.core.admission.review import Review
from webhook.core.admission.target_containers import Choice
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import claim_names, device_request
from webhook.core.claims.device_request import DeviceRequest
from webhook.errors import Denied, FieldError, truncate_warnings
from webhook.json_tree import strict_list
from webhook.reasons import Reason

T = TypeVar("T")

_JSON = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class InjectionPlan:
    """What a valid pod requests, and which containers get it."""

    devices: DeviceRequest
    containers: Sequence[Container]
    """Empty only for a model that needs no GPU."""
    warnings: Sequence[str]
    memory_request: str | None = None
    """The memory request of the first container; None if it gets none."""

    def summarize(self, claim: str) -> str:
        """Summary of the injection; `claim` names the claim."""
        return summary.summarize(self.devices, self.containers, self.memory_request, claim)

    def summarize_for_each_pod(self) -> str:
        """Summary for the pods of a template. Admission plugins and other webhooks may change the pods before they are
        injected, so the memory request is conditional."""
        request = (
            f"{self.memory_request} unless a LimitRange or another webhook sets one" if self.memory_request else None
        )
        return summary.summarize(self.devices, self.containers, request, "each pod gets a claim")


def mutate(review: Review, config: AdmissionConfig) -> Decision:
    """The patch for a pod that is being created."""
    if review.subresource:
        return Decision.allow(Reason.SUBRESOURCE)
    if not review.is_pod:
        return Decision.allow(Reason.NOT_A_POD)
    if review.operation != "CREATE":
        return Decision.allow(Reason.OTHER_OPERATION)
    pod = pods.from_object(review.required_object())
    exemption = pod.find_exemption()
    if exemption:
        return Decision.allow(exemption, _unannotated_warnings(pod) if exemption is Reason.NOT_ANNOTATED else ())
    try:
        plan = plan_injection(review, pod, config)
    except Denied as denied:
        return Decision.deny(denied)
    return _inject(review, pod, plan, config)


def _unannotated_warnings(pod: Pod) -> Iterator[str]:
    yield from (f"modelfit: {warning}" for warning in pod_rules.claim_of_another_pod(pod))
    yield from pod_rules.ignored_annotations(pod)


def validate(review: Review, config: AdmissionConfig) -> Decision:
    """Whether a pod that is created or updated may be stored."""
    pod = pods.from_object(review.required_object())
    if review.operation == "UPDATE":
        changed = list(pod_rules.changed_injection(pods.from_object(review.old_object or {}), pod))
        if changed:
            return Decision.deny(Denied(Reason.INJECTION_CHANGED, changed))
    exemption = pod.find_exemption()
    if exemption:
        return Decision.allow(exemption)
    try:
        if review.operation == "UPDATE":
            return _validate_update(review, pod, config)
        plan = plan_injection(review, pod, config)
    except Denied as denied:
        return Decision.deny(denied)
    missing = [] if plan.devices.requirements.cpu_only else list(pod_rules.missing_parts(pod, plan.containers))
    if not missing:
        return Decision.allow(Reason.VALID)
    if config.uninjected_pods == "warn":
        return Decision.allow(Reason.NOT_INJECTED, (f"modelfit: {error}" for error in missing))
    return Decision.deny(Denied(Reason.NOT_INJECTED, missing))


def plan_injection(review: Review, pod: Pod, config: AdmissionConfig) -> InjectionPlan:
    """The plan for a pod. Raises one Denied with the errors of every rule."""
    pod_rules.check_size(pod)
    found: list[tuple[Reason, FieldError]] = []
    devices = _collect_errors(lambda: device_request.from_annotations(pod.annotations, config), found)
    cpu_only = devices is not None and devices.requirements.cpu_only
    choice = _collect_errors(lambda: _choose_containers(pod, config, cpu_only), found)
    warnings = [*pod_rules.misspelled(pod), *(devices.requirements.warnings if devices else ())]
    if not review.namespace:
        error = FieldError("request.namespace", "none", "the namespace that the pod is created in")
        found.append((Reason.NO_NAMESPACE, error))
    if cpu_only:
        found += [(Reason.ALIAS_TAKEN, error) for error in pod_rules.unexpected_claim(pod)]
        warnings += pod_rules.ignored_device_count(pod)
    else:
        found += [(Reason.NODE_NAME_SET, error) for error in pod_rules.node_name(pod)]
        found += [(Reason.ALIAS_TAKEN, error) for error in pod_rules.alias_conflict(pod)]
        warnings += _check_accelerators(pod, devices, choice, config, found)
    if found or devices is None or choice is None:
        raise Denied(found[0][0], [error for _, error in found])
    warnings += choice.warnings
    if config.device_count_variable and len(devices.counts) > 1:
        warnings.append(f"{config.device_count_variable} is not set: the scheduler chooses among the device counts")
    containers = choice.containers
    env = _device_count_env(devices, config)
    if env:
        warnings += pod_rules.other_device_count(containers, *env)
    if config.memory_requests == "ignore" or not containers:
        return InjectionPlan(devices, containers, warnings)
    existing = pod_rules.existing_memory_requests(pod, containers[0])
    warnings += pod_rules.below_requirement(existing, devices.requirements)
    return InjectionPlan(devices, containers, warnings, None if existing else devices.requirements.memory_quantity)


def _choose_containers(pod: Pod, config: AdmissionConfig, cpu_only: bool) -> Choice:
    """The target containers. A model that needs no GPU is admitted without any if the choice is ambiguous: it only
    lacks a memory request, and another webhook may have inserted a container since the first call for this pod."""
    try:
        return target_containers.choose(pod, use_first=config.ambiguous_containers == "first")
    except Denied as denied:
        if not cpu_only or denied.reason is not Reason.AMBIGUOUS_CONTAINER:
            raise
        repeated = constants.INJECTED_INTO in pod.annotations
        return Choice((), () if repeated else [f"no memory request is set: {denied}"])


def _check_accelerators(
    pod: Pod,
    devices: DeviceRequest | None,
    choice: Choice | None,
    config: AdmissionConfig,
    found: list[tuple[Reason, FieldError]],
) -> Iterator[str]:
    """Warnings about accelerators that the containers request beside the claim. Errors go to `found`."""
    all_containers = [each for each in pod.containers + pod.init_containers if each.requests_devices]
    if not all_containers:
        return
    paths = {container.path for container in choice.containers} if choice else set()
    targets = [each for each in all_containers if each.path in paths]
    others = [each for each in all_containers if each.path not in paths]
    driver = devices.profile.driver if devices else None
    classes = {name for each in config.profiles.values() if each.driver == driver for name in each.device_classes}
    for containers, denies in ((targets, config.device_plugin_requests == "deny"), (others, False)):
        errors = pod_rules.duplicate_requests(containers, classes, config.gpu_resource_names)
        if denies:
            found += [(Reason.DEVICE_PLUGIN_REQUEST, error) for error in errors]
        else:
            yield from map(str, errors)
    yield from map(str, pod_rules.other_accelerator_requests(all_containers))
    yield from pod_rules.own_claims(targets)


def _collect_errors(step: Callable[[], T], found: list[tuple[Reason, FieldError]]) -> T | None:
    """The value of the step. If it is denied, its errors go to `found`, so that the user sees those of all steps."""
    try:
        return step()
    except Denied as denied:
        found += [(denied.reason, error) for error in denied.errors]
        return None


def _inject(review: Review, pod: Pod, plan: InjectionPlan, config: AdmissionConfig) -> Decision:
    requirements = plan.devices.requirements
    record = _record(pod, review.namespace, plan.devices)
    repeated = _already_injected(pod, record)
    claim, warnings = None, list(plan.warnings)
    if not requirements.cpu_only:
        entry = pods.alias_entry(pod)
        if entry and repeated:
            claim = str(entry["resourceClaimName"])
        else:
            claim = claim_names.from_review(requirements, review.uid)
            warnings[:0] = pod_rules.stale_claim(entry)
        warnings += queueing.pod_warnings(pod)
    # On a repeated call the first container may be another one, inserted by another webhook since the first call.
    memory_request = None if repeated else plan.memory_request
    patch = inject(pod, record, claim, plan.containers, memory_request, _device_count_env(plan.devices, config))
    if patch:
        warnings.insert(0, f"modelfit: {plan.summarize(f'claim {claim}')}")
    reason = Reason.CPU_ONLY if claim is None else Reason.INJECTED if patch else Reason.ALREADY_INJECTED
    return Decision(True, reason, tuple(patch), truncate_warnings(warnings), claim=claim)


def _record(pod: Pod, namespace: str, devices: DeviceRequest) -> dict[str, str]:
    """The annotations that record what was injected, and into which pod. They tell the second call for a pod from the
    first call for a copy of it."""
    requirements = devices.requirements
    amounts = {"gpu.memory": requirements.gpu_memory_quantity}
    if requirements.memory_quantity:
        amounts["memory"] = requirements.memory_quantity
    return {constants.RESOURCES: _JSON.encode(amounts), constants.INJECTED_INTO: _identity(pod, namespace)}


def _identity(pod: Pod, namespace: str) -> str:
    """`models/llama`; `models/llama-*` before the name is generated, `models/llama-* of <uid>` if the pod has a
    controller. A pod has no uid at admission, and a copy may share the prefix of a generated name, hence the owner."""
    name = pod.metadata.get("name")
    if name:
        return f"{namespace}/{name}"
    prefix = f"{namespace}/{pod.metadata.get('generateName') or ''}*"
    for owner in strict_list(pod.metadata, "ownerReferences", "metadata"):
        if isinstance(owner, dict) and owner.get("controller") is True:
            return f"{prefix} of {owner.get('uid')}"
    return prefix


def _already_injected(pod: Pod, record: Mapping[str, str]) -> bool:
    return all(pod.annotations.get(key) == value for key, value in record.items())


def _device_count_env(devices: DeviceRequest, config: AdmissionConfig) -> tuple[str, str] | None:
    """Name and value of the configured environment variable. None if several device counts are requested: the
    scheduler chooses one of them after the environment is fixed."""
    name = config.device_count_variable
    if name is None or devices.requirements.cpu_only or len(devices.counts) > 1:
        return None
    return name, str(devices.counts[0])


def _validate_update(review: Review, pod: Pod, config: AdmissionConfig) -> Decision:
    """Only a changed fit is checked: a pod's claims are fixed at creation."""
    old = pods.from_object(review.old_object or {}).annotations
    if old.get(constants.MODEL_FIT) == pod.annotations[constants.MODEL_FIT]:
        return Decision.allow(Reason.ANNOTATION_UNCHANGED)
    device_request.from_annotations(pod.annotations, config)
    if pod_rules.is_injected(pods.alias_entry(pod)):
        warning = "a pod's claim is fixed at creation; this change does not resize it"
    else:
        path = device_request.annotation_path(constants.MODEL_FIT)
        warning = f"{path} does nothing here; claims cannot be added to an existing pod: delete and recreate it"
    return Decision.allow(Reason.VALID, [f"modelfit: {warning}"])
