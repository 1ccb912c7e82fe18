"""The results of a pod reconcile: as Events, metrics and logs name them, and for the queue. API errors
(`webhook.cluster.api_errors`) and denials (`webhook.reasons`) have their own reasons."""

from enum import StrEnum
from typing import NamedTuple

from webhook.cluster.api_errors import Scope


class ClaimResult(StrEnum):
    """CamelCase, as Kubernetes' own reasons."""

    CLAIM_CREATED = "ClaimCreated"
    CLAIM_PRESENT = "ClaimPresent"
    NOTHING_TO_DO = "NothingToDo"
    CLAIM_NAME_TAKEN = "ClaimNameTaken"
    MODEL_FIT_UNUSABLE = "ModelFitUnusable"
    MODEL_FIT_MISSING = "ModelFitMissing"
    MEMORY_LIMIT_TOO_LOW = "MemoryLimitTooLow"
    DUPLICATE_DEVICE_REQUEST = "DuplicateDeviceRequest"
    DEVICE_CLASS_MISSING = "DeviceClassMissing"
    NOT_INJECTED = "NotInjected"


class Result(NamedTuple):
    """Whether a claim was created; else whether to reconcile again, after at least how many seconds, and why."""

    created: bool = False
    requeue: bool = False
    requeue_after: float = 0.0
    scope: Scope = Scope.SERVER
    reason: str = ""
