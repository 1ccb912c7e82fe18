"""The rules for a pod that gets a claim. Each rule checks the whole pod and yields every error or warning."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from webhook import constants
from webhook.core.admission import exemptions, gpu_resources, pods, target_containers
from webhook.core.admission.pods import Container, Pod
from webhook.core.claims import claim_names
from webhook.core.claims.device_request import annotation_path
from webhook.core.fits import quantities
from webhook.core.fits.requirements import ModelRequirements
from webhook.errors import Denied, FieldError, quote, quote_all
from webhook.json_tree import strict_object
from webhook.reasons import Reason

_PREFIX = f"{constants.DOMAIN}/"
_KNOWN_ANNOTATIONS = frozenset(
    # INJECT is a label and has a warning of its own.
    {*pods.USER_ANNOTATIONS,
     constants.CLAIM, constants.RESOURCES, constants.INJECTED_INTO, constants.INJECTED,
     constants.INJECT}
)  # fmt: skip


def check_size(pod: Pod) -> None:
    """Raises Denied for a pod that is larger than any real pod, before any rule reads its parts one by one."""
    if pod.container_count > pods.MAX_CONTAINERS:
        raise _too_large(f"{pod.container_count} containers and init containers", pods.MAX_CONTAINERS)
    if pod.resource_count > pods.MAX_RESOURCES:
        raise _too_large(f"{pod.resource_count} resource requests and limits", pods.MAX_RESOURCES)


def _too_large(value: str, maximum: int) -> Denied:
    return Denied(Reason.POD_TOO_LARGE, [FieldError("spec.containers", value, f"at most {maximum}")])


def node_name(pod: Pod) -> Iterator[FieldError]:
    """An error for a pod that is bound already: only the scheduler allocates devices, so the pod would stay pending."""
    name = pod.spec.get("nodeName")
    if name:
        expected = "none: the scheduler allocates the device"
        yield FieldError("spec.nodeName", quote(name), expected, "use nodeSelector or node affinity")


def is_injected(entry: Mapping[str, object] | None) -> bool:
    """Whether the webhook can have written this entry of spec.resourceClaims."""
    return entry is not None and claim_names.is_from_review(entry.get("resourceClaimName"))


def alias_conflict(pod: Pod) -> Iterator[FieldError]:
    """An error for a claim of the user's that has the name of ours, or for ours without its claim."""
    entry = pods.alias_entry(pod)
    if entry is None or is_injected(entry):
        return
    field = f"spec.resourceClaims[{pod.resource_claims.index(entry)}]"
    if not entry.get("resourceClaimName") and not entry.get("resourceClaimTemplateName"):
        # A webhook with an older Pod type decodes and encodes the pod: kubernetes-sigs/kueue#2948.
        value, hint = "an entry without a claim", "update the webhook that dropped resourceClaimName from the pod"
        yield FieldError(field, value, "the entry that the mutating webhook adds", hint)
    else:
        hint = "rename the entry and the containers' references to it"
        yield FieldError(f"{field}.name", f"the pod's own claim named {constants.ALIAS}", "another name", hint)


def unexpected_claim(pod: Pod) -> Iterator[FieldError]:
    """An error for an injected entry on a pod that needs no GPU: it belongs to another pod or another fit, so the pod
    would take that one's device or stay pending."""
    entry = pods.alias_entry(pod)
    if entry is not None and is_injected(entry):
        field = f"spec.resourceClaims[{pod.resource_claims.index(entry)}]"
        value = f"claim {entry['resourceClaimName']} on a model that needs no GPU"
        yield FieldError(field, value, "none", "remove the entry and the containers' references to it")


def duplicate_requests(
    containers: Sequence[Container], device_classes: Collection[str], further: Collection[str]
) -> Iterator[FieldError]:
    """An error for each GPU that a container requests in another way than with the claim; see
    `gpu_resources.duplicates_claim`."""
    return _resource_errors(
        containers, lambda resource: gpu_resources.duplicates_claim(resource, device_classes, further)
    )


def other_accelerator_requests(containers: Sequence[Container]) -> Iterator[FieldError]:
    """An error for each accelerator from a system that may hand out other cards than those of the claim."""
    return _resource_errors(containers, gpu_resources.is_other_accelerator)


def _resource_errors(containers: Sequence[Container], matches: Callable[[str], bool]) -> Iterator[FieldError]:
    """An error for each resource that matches. It is reported once: the API server copies limits to requests."""
    for container in containers:
        reported: set[str] = set()
        for kind in ("limits", "requests"):
            for resource, quantity in container.amounts(kind).items():
                # The API server reads a null quantity as 0.
                zero = quantity is None or quantities.parse(quantity) == 0
                if "/" in resource and matches(resource) and not zero and resource not in reported:
                    reported.add(resource)
                    field = f"{container.field}.resources.{kind}[{resource}]"
                    hint = "remove it: the claim brings the GPU"
                    yield FieldError(field, gpu_resources.describe(resource), "none beside a claim", hint)


def own_claims(containers: Sequence[Container]) -> Iterator[str]:
    """A warning for each container that references claims of its own, which may be for a GPU too."""
    for container in containers:
        names = [claim.get("name") for claim in container.claims if isinstance(claim, dict)]
        own = [str(name) for name in names if name != constants.ALIAS]
        if own:
            field = f"{container.field}.resources.claims"
            yield f"{field}: the container gets one more device beside {quote_all(own, 3)}; remove a claim for a GPU"


def missing_parts(pod: Pod, containers: Sequence[Container]) -> Iterator[FieldError]:
    """An error for each part of the injection that the pod lacks. Without the entry or a reference it gets no device.
    Without the label the controller creates no claim, and the pod stays pending. The annotation tells people the
    claim."""
    hint = "check that modelfit's MutatingWebhookConfiguration matches this pod, and create it again"
    entry = pods.alias_entry(pod)
    if entry is None:
        value = f"no entry {constants.ALIAS} on a pod that needs a GPU"
        yield FieldError("spec.resourceClaims", value, "the entry that the mutating webhook adds", hint)
        return
    if pod.labels.get(constants.INJECTED) != constants.INJECTED_TRUE:
        field = f"metadata.labels[{constants.INJECTED}]"
        yield FieldError(field, "a claim without the label", quote(constants.INJECTED_TRUE), hint)
    if pod.annotations.get(constants.CLAIM) != entry.get("resourceClaimName"):
        field = annotation_path(constants.CLAIM)
        yield FieldError(field, "not the claim that the pod names", "the claim's name", hint)
    for container in containers:
        if not target_containers.references_claim(container):
            field = f"{container.field}.resources.claims"
            yield FieldError(field, f"no reference to {constants.ALIAS}", "one in every target container", hint)


def changed_injection(old: Pod, new: Pod) -> Iterator[FieldError]:
    """An error for each label and annotation of the webhook's that an update changes, adds or removes, and for the end
    of an exemption: the webhook sets them at creation, and the controller acts on pods that have them. A pod that is
    being deleted may be changed, so that its finalizers can always be removed."""
    if new.metadata.get("deletionTimestamp"):
        return
    hint = "only the webhook sets it, at creation: delete the pod and create it again"
    changes = [(f"metadata.labels[{constants.INJECTED}]", old.labels, new.labels, constants.INJECTED)]
    changes += [
        (annotation_path(key), old.annotations, new.annotations, key)
        for key in (constants.CLAIM, constants.RESOURCES, constants.INJECTED_INTO)
    ]
    for field, before, after, key in changes:
        if before.get(key) != after.get(key):
            value, expected = (quote(texts[key]) if key in texts else "none" for texts in (after, before))
            yield FieldError(field, value, expected, hint)
    was_exempt = exemptions.is_disabled(old.metadata) and not exemptions.is_disabled(new.metadata)
    if was_exempt and constants.INJECTED in new.labels:
        field = f"metadata.labels[{constants.INJECT}]"
        expected = quote(constants.INJECT_DISABLED)
        yield FieldError(field, "removed from a pod that was exempt", expected, "delete the pod and create it again")


def stale_claim(entry: Mapping[str, object] | None) -> Iterator[str]:
    """A warning for an injected entry of another pod or fit: the pod is a copy of an admitted one."""
    if entry is not None:
        claim = entry.get("resourceClaimName")
        yield f"spec.resourceClaims named claim {claim}, which is for another pod or another fit; this pod gets its own"


def claim_of_another_pod(pod: Pod) -> Iterator[str]:
    """A warning for an injected entry on a pod without a fit: a copy that has lost its annotations. The controller
    creates no claim for it. It shares the claim of the first pod, or waits for it if that is gone."""
    entry = pods.alias_entry(pod)
    if entry is not None and is_injected(entry):
        field = f"spec.resourceClaims[{pod.resource_claims.index(entry)}]"
        yield (
            f"{field} names claim {entry['resourceClaimName']} of another pod, whose device it shares or waits for; "
            f"to get its own it needs {constants.MODEL_FIT}: copy with kubectl debug --keep-annotations"
        )


def misspelled(pod: Pod) -> Iterator[str]:
    """Warnings for unknown annotations of our domain and for misuses of the label `inject`."""
    unknown = [key for key in pod.annotations if key.startswith(_PREFIX) and key not in _KNOWN_ANNOTATIONS]
    if unknown:
        known = ", ".join(pods.USER_ANNOTATIONS)
        yield f"metadata.annotations: {quote_all(unknown, 2)} is not known and does nothing; known are {known}"
    label = pod.labels.get(constants.INJECT)
    if label is not None and label not in (constants.INJECT_DISABLED, "enabled"):
        yield f"the label {constants.INJECT} is {quote(label)}; only {constants.INJECT_DISABLED} exempts a pod"
    if constants.INJECT in pod.annotations:
        yield f"{constants.INJECT} has no effect as an annotation; set it as a label"


def ignored_annotations(pod: Pod) -> Iterator[str]:
    """Warnings for annotations on a pod without a fit."""
    ignored = [key for key in pods.USER_ANNOTATIONS[1:] if key in pod.annotations]
    if ignored:
        yield f"metadata.annotations: {', '.join(ignored)} does nothing without {constants.MODEL_FIT}"
    yield from misspelled(pod)


def ignored_device_count(pod: Pod) -> Iterator[str]:
    """A warning for a device count on a model that needs no GPU."""
    if pod.annotations.get(constants.DEVICE_COUNT, "1") != "1":
        yield f"{annotation_path(constants.DEVICE_COUNT)} does nothing: the model needs no GPU"


def other_device_count(containers: Sequence[Container], variable: str, count: str) -> Iterator[str]:
    """A warning for each container that sets the variable for the number of devices to another value, as a copy of a
    pod does after its device count has changed. The patch keeps the value."""
    for container in containers:
        for index, entry in enumerate(container.environment):
            if isinstance(entry, dict) and entry.get("name") == variable:
                value = entry.get("value")
                if isinstance(value, str) and value != count:
                    field = f"{container.field}.env[{index}]"
                    yield f"{field}: {variable} is {quote(value)}, but the number of devices is {count}; it is kept"


def existing_memory_requests(pod: Pod, container: Container) -> list[tuple[str, object]]:
    """Path and amount of each memory request and limit of the container and of the pod. A limit without a request is
    one too: the API server copies it."""
    pod_resources = strict_object(pod.spec, "resources", "spec")
    return [
        (f"{field}.{kind}.memory", amounts["memory"])
        for kind in ("requests", "limits")
        for field, amounts in (
            (f"{container.field}.resources", container.amounts(kind)),
            ("spec.resources", strict_object(pod_resources, kind, "spec.resources")),
        )
        if amounts.get("memory") is not None
    ]


def below_requirement(existing: list[tuple[str, object]], requirements: ModelRequirements) -> Iterator[str]:
    """A warning for each of the `existing_memory_requests` that is below the model's system memory."""
    if not requirements.memory or not existing:
        return
    required = quantities.mebibytes(requirements.memory) * quantities.MIB
    for field, amount in existing:
        quantity = quantities.parse(amount)
        if quantity is not None and quantity < required:
            yield f"{field} is less than the {requirements.memory_quantity} that the model needs; it is kept"
