"""Why an answer is what it is: one vocabulary for responses, metrics, logs, Events and the CLI."""

from enum import StrEnum

from webhook import constants


class Reason(StrEnum):
    """CamelCase as Kubernetes' own reasons; the value is what machines read, `sentence` what people read."""

    # Allowed.
    INJECTED = "Injected"
    ALREADY_INJECTED = "AlreadyInjected"
    CPU_ONLY = "CpuOnly"
    VALID = "Valid"
    NOT_ANNOTATED = "NotAnnotated"
    DISABLED = "Disabled"
    NOT_A_POD = "NotAPod"
    NOT_A_CREATE = "NotACreate"
    SUBRESOURCE = "Subresource"
    MIRROR_POD = "MirrorPod"
    BEING_DELETED = "BeingDeleted"
    ANNOTATION_UNCHANGED = "AnnotationUnchanged"
    MADE_BY_A_WORKLOAD = "MadeByAWorkload"

    # Refused.
    INVALID_MODEL_FIT = "InvalidModelFit"
    AMBIGUOUS_MODEL_FIT = "AmbiguousModelFit"
    NO_GPU_MEMORY_FIGURE = "NoGpuMemoryFigure"
    UNKNOWN_PROFILE = "UnknownProfile"
    INVALID_DEVICE_COUNT = "InvalidDeviceCount"
    UNSUPPORTED_DEVICE_COUNT = "UnsupportedDeviceCount"
    UNKNOWN_CONTAINER = "UnknownContainer"
    NO_NAMESPACE = "NoNamespace"
    NODE_NAME_SET = "NodeNameSet"
    DEVICE_PLUGIN_REQUEST = "DevicePluginRequest"
    ALIAS_TAKEN = "AliasTaken"
    NOT_INJECTED = "NotInjected"

    @property
    def sentence(self) -> str:
        """The reason in words, as documentation, `explain` and Events show it."""
        return _SENTENCES[self]

    @property
    def code(self) -> int:
        """The HTTP status code that a refusal carries: 422 for an input that is wrong, 403 for one that is
        well-formed and against a rule."""
        return 403 if self in _FORBIDDEN else 422


_FORBIDDEN = frozenset({Reason.NODE_NAME_SET, Reason.DEVICE_PLUGIN_REQUEST, Reason.ALIAS_TAKEN, Reason.NOT_INJECTED})

REFUSALS = _FORBIDDEN | {
    Reason.INVALID_MODEL_FIT,
    Reason.AMBIGUOUS_MODEL_FIT,
    Reason.NO_GPU_MEMORY_FIGURE,
    Reason.UNKNOWN_PROFILE,
    Reason.INVALID_DEVICE_COUNT,
    Reason.UNSUPPORTED_DEVICE_COUNT,
    Reason.UNKNOWN_CONTAINER,
    Reason.NO_NAMESPACE,
}
"""Those for which a pod can be refused."""

_SENTENCES = {
    Reason.INJECTED: "the pod got a ResourceClaim reference",
    Reason.ALREADY_INJECTED: "the pod already carries all of it",
    Reason.CPU_ONLY: "the model needs no GPU memory, so there is nothing to claim",
    Reason.VALID: "the annotation is valid",
    Reason.NOT_ANNOTATED: f"the pod has no {constants.MODEL_FIT} annotation",
    Reason.DISABLED: f"the pod is labelled {constants.INJECT}: {constants.INJECT_DISABLED}",
    Reason.NOT_A_POD: "the object is not of a kind that is looked at",
    Reason.NOT_A_CREATE: "a pod's claims can only be set when it is created",
    Reason.SUBRESOURCE: "subresources are left alone",
    Reason.MIRROR_POD: "mirror pods may not name resource claims",
    Reason.BEING_DELETED: "the object is being deleted",
    Reason.ANNOTATION_UNCHANGED: "the update does not change the annotation",
    Reason.MADE_BY_A_WORKLOAD: "the workload that made the object was looked at instead",
    Reason.INVALID_MODEL_FIT: "the annotation is not a ModelFit that can be used",
    Reason.AMBIGUOUS_MODEL_FIT: "the annotation holds no single model",
    Reason.NO_GPU_MEMORY_FIGURE: "the ModelFit does not say how much GPU memory the model needs",
    Reason.UNKNOWN_PROFILE: "the device profile is not configured",
    Reason.INVALID_DEVICE_COUNT: "the device count is not one that can be asked for",
    Reason.UNSUPPORTED_DEVICE_COUNT: "the device count cannot be used with this fit or profile",
    Reason.UNKNOWN_CONTAINER: "the containers that are to get the claim cannot be told",
    Reason.NO_NAMESPACE: "the review names no namespace",
    Reason.NODE_NAME_SET: "spec.nodeName bypasses the scheduler, which allocates devices",
    Reason.DEVICE_PLUGIN_REQUEST: "a device-plugin resource and a claim would count the same card twice",
    Reason.ALIAS_TAKEN: "the entry modelfit in spec.resourceClaims is not one that the pod can keep",
    Reason.NOT_INJECTED: "the pod needs a claim and arrives without one",
}
