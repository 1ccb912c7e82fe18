"""The results of a pod reconcile, as Events, metrics and logs name them. API errors (`webhook.cluster.api_errors`) and
denials (`webhook.reasons`) have their own reasons."""

from enum import StrEnum


class ClaimResult(StrEnum):
    """CamelCase, as Kubernetes' own reasons."""

    CLAIM_CREATED = "ClaimCreated"
    CLAIM_PRESENT = "ClaimPresent"
    NOTHING_TO_DO = "NothingToDo"
    CLAIM_NAME_TAKEN = "ClaimNameTaken"
    MODEL_FIT_UNUSABLE = "ModelFitUnusable"
    DEVICE_CLASS_MISSING = "DeviceClassMissing"
    NOT_INJECTED = "NotInjected"
