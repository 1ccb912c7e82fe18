"""What a pod that is to get a claim must not do. Each rule looks at the whole pod, and gives all that it finds."""

import re
from collections.abc import Iterator, Mapping, Sequence

from webhook import constants
from webhook.core.admission import pods, target_containers
from webhook.core.admission.pods import Container, Pod
from webhook.core.claims import claim_names
from webhook.core.claims.device_request import annotation_path
from webhook.core.fits import quantities
from webhook.errors import FieldError, quote, quote_all

DEFAULT_SCHEDULER = "default-scheduler"

_PREFIX = f"{constants.DOMAIN}/"
_KNOWN = frozenset(
    # The second line is ours; the last is told of by itself.
    {*pods.ASKING,
     constants.CLAIM, constants.RESOURCES, constants.INJECTED_INTO, constants.INJECTED,
     constants.INJECT}
)  # fmt: skip

# GPU resources of the vendors' device plugins: whole cards, partitions, shares. nvidia.com/hostdev and the like are
# network devices and stay out. What follows is held to the characters of a resource name, as messages repeat it.
_DEVICE_PLUGIN = re.compile(
    r"(nvidia\.com/(gpu|mig-)|amd\.com/(gpu|[sdqc]px_)|gpu\.intel\.com/(i915|xe)|intel\.com/gpu|habana\.ai/gaudi"
    r"|google\.com/tpu)[-.\w]{0,63}",
    re.ASCII,
)


def node_name(pod: Pod) -> Iterator[FieldError]:
    """Devices are allocated by the scheduler; a pod that is bound already would wait for its claim for ever."""
    name = pod.spec.get("nodeName")
    if name:
        yield FieldError("spec.nodeName", quote(name), "none: the scheduler allocates the device",
                    "use nodeSelector or node affinity")  # fmt: skip


def is_ours(entry: Mapping[str, object] | None) -> bool:
    """Whether the webhook can have written the entry."""
    return entry is not None and claim_names.is_from_review(entry.get("resourceClaimName"))


def alias(pod: Pod) -> Iterator[FieldError]:
    """An entry with our alias that the webhook cannot have written is the user's own."""
    entry = pods.alias_entry(pod)
    if entry is not None and not is_ours(entry):
        index = pod.resource_claims.index(entry)
        yield FieldError(f"spec.resourceClaims[{index}].name", f"the pod's own claim named {constants.ALIAS}",
                    "another name", "rename the entry and the containers' references to it")  # fmt: skip


def unexpected_claim(pod: Pod) -> Iterator[FieldError]:
    """An entry that the webhook wrote for another pod, or another fit, on a pod that needs no GPU: it would take that
    one's device, or wait for ever."""
    entry = pods.alias_entry(pod)
    if entry is not None and is_ours(entry):
        yield FieldError(f"spec.resourceClaims[{pod.resource_claims.index(entry)}]",
                    f"claim {entry['resourceClaimName']} on a model that needs no GPU", "none",
                    "take the entry out, and the containers' references to it")  # fmt: skip


def device_plugin_requests(containers: Sequence[Container]) -> Iterator[FieldError]:
    """GPUs asked for through a device plugin: a second ledger for the cards that DRA allocates. Each is told of once:
    of a limit the API server makes the request too."""
    for container in containers:
        told: set[str] = set()
        for kind in ("limits", "requests"):
            for resource, quantity in container.amounts(kind).items():
                # The API server reads a null quantity as 0.
                none = quantity is None or quantities.parse(quantity) == 0
                if "/" in resource and _DEVICE_PLUGIN.fullmatch(resource) and not none and resource not in told:
                    told.add(resource)
                    yield FieldError(f"{container.field}.resources.{kind}[{resource}]", "a device-plugin request",
                                "none beside a claim", "remove it: the claim brings the GPU")  # fmt: skip


def missing_parts(pod: Pod, containers: Sequence[Container]) -> Iterator[FieldError]:
    """What the mutating webhook adds and the pod does not have. Without the entry it gets no device; without the label
    or the annotation the controller does not make its claim, and the pod waits without a word."""
    remedy = "check that modelfit's MutatingWebhookConfiguration matches this pod, and create it again"
    entry = pods.alias_entry(pod)
    if entry is None:
        saw = f"no entry {constants.ALIAS} on a pod that needs a GPU"
        yield FieldError("spec.resourceClaims", saw, "the entry that the mutating webhook adds", remedy)
        return
    if pod.labels.get(constants.INJECTED) != constants.INJECTED_TRUE:
        path = f"metadata.labels[{constants.INJECTED}]"
        yield FieldError(path, "a claim without the label", quote(constants.INJECTED_TRUE), remedy)
    if pod.annotations.get(constants.CLAIM) != entry.get("resourceClaimName"):
        yield FieldError(
            annotation_path(constants.CLAIM), "not the claim that the pod names", "the claim's name", remedy
        )
    for container in containers:
        if not target_containers.refers(container):
            path = f"{container.field}.resources.claims"
            yield FieldError(path, f"no reference to {constants.ALIAS}", "one in every target container", remedy)


def stale_claim(entry: Mapping[str, object] | None) -> Iterator[str]:
    """A warning for an entry that the webhook wrote and not for this pod: the pod was made out of an admitted one."""
    if entry is not None:
        claim = entry.get("resourceClaimName")
        yield f"spec.resourceClaims named claim {claim}, which is for another pod or another fit; this pod gets its own"


def misspelled(pod: Pod) -> Iterator[str]:
    """A warning for what looks like one of our keys and is not, or like `inject: disabled`."""
    unknown = [key for key in pod.annotations if key.startswith(_PREFIX) and key not in _KNOWN]
    if unknown:
        known = ", ".join(pods.ASKING)
        yield f"metadata.annotations: {quote_all(unknown, 2)} is not known and does nothing; known are {known}"
    label = pod.labels.get(constants.INJECT)
    if label is not None and label not in (constants.INJECT_DISABLED, "enabled"):
        yield f"the label {constants.INJECT} is {quote(label)}; only {constants.INJECT_DISABLED} leaves a pod alone"
    if constants.INJECT in pod.annotations:
        yield f"{constants.INJECT} is an annotation here, which does nothing; it is meant as a label"


def ignored_annotations(pod: Pod) -> Iterator[str]:
    """A warning for annotations on a pod that asks for nothing, for want of a fit."""
    idle = [key for key in pods.ASKING[1:] if key in pod.annotations]
    if idle:
        yield f"metadata.annotations: {', '.join(idle)} does nothing without {constants.MODEL_FIT}"
    yield from misspelled(pod)


def idle_device_count(pod: Pod) -> Iterator[str]:
    """A warning for a number of devices for a model that needs none."""
    if pod.annotations.get(constants.DEVICE_COUNT, "1") != "1":
        yield f"{annotation_path(constants.DEVICE_COUNT)} does nothing: the model needs no GPU"


def foreign_scheduler(pod: Pod) -> Iterator[str]:
    """A warning for a scheduler that may not allocate claims."""
    name = pod.spec.get("schedulerName")
    if name and name != DEFAULT_SCHEDULER:
        yield f"spec.schedulerName is {quote(name)}: the pod waits for ever if that scheduler does not allocate claims"
