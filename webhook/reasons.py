"""The reasons of decisions: one vocabulary for responses, metrics, logs, Events and the CLI."""

from enum import StrEnum


class Reason(StrEnum):
    """Why an object is allowed or denied, CamelCase as the reasons of Kubernetes."""

    # Allowed.
    INJECTED = "Injected"
    ALREADY_INJECTED = "AlreadyInjected"
    CPU_ONLY = "CpuOnly"
    VALID = "Valid"
    NOT_ANNOTATED = "NotAnnotated"
    DISABLED = "Disabled"
    NOT_A_POD = "NotAPod"
    OTHER_OPERATION = "OtherOperation"
    SUBRESOURCE = "Subresource"
    MIRROR_POD = "MirrorPod"
    BEING_DELETED = "BeingDeleted"
    ANNOTATION_UNCHANGED = "AnnotationUnchanged"
    MADE_BY_A_WORKLOAD = "MadeByAWorkload"

    # Denied: invalid input.
    INVALID_MODEL_FIT = "InvalidModelFit"
    AMBIGUOUS_MODEL_FIT = "AmbiguousModelFit"
    NO_GPU_MEMORY_FIGURE = "NoGpuMemoryFigure"
    UNKNOWN_PROFILE = "UnknownProfile"
    INVALID_DEVICE_COUNT = "InvalidDeviceCount"
    UNSUPPORTED_DEVICE_COUNT = "UnsupportedDeviceCount"
    UNKNOWN_CONTAINER = "UnknownContainer"
    AMBIGUOUS_CONTAINER = "AmbiguousContainer"
    POD_TOO_LARGE = "PodTooLarge"
    NO_NAMESPACE = "NoNamespace"

    # Denied: valid input that violates a rule. NotInjected may also be allowed with a warning.
    NODE_NAME_SET = "NodeNameSet"
    DEVICE_PLUGIN_REQUEST = "DevicePluginRequest"
    ALIAS_TAKEN = "AliasTaken"
    NOT_INJECTED = "NotInjected"
    INJECTION_CHANGED = "InjectionChanged"

    @property
    def code(self) -> int:
        """The HTTP status code of a denial: 422 for invalid input, 403 for a violated rule."""
        return 403 if self in _FORBIDDEN else 422


_FORBIDDEN = frozenset(
    {
        Reason.NODE_NAME_SET,
        Reason.DEVICE_PLUGIN_REQUEST,
        Reason.ALIAS_TAKEN,
        Reason.NOT_INJECTED,
        Reason.INJECTION_CHANGED,
    }
)

DENIAL_REASONS = _FORBIDDEN | {
    Reason.INVALID_MODEL_FIT,
    Reason.AMBIGUOUS_MODEL_FIT,
    Reason.NO_GPU_MEMORY_FIGURE,
    Reason.UNKNOWN_PROFILE,
    Reason.INVALID_DEVICE_COUNT,
    Reason.UNSUPPORTED_DEVICE_COUNT,
    Reason.UNKNOWN_CONTAINER,
    Reason.AMBIGUOUS_CONTAINER,
    Reason.POD_TOO_LARGE,
    Reason.NO_NAMESPACE,
}
"""The reasons for which an object can be denied."""
