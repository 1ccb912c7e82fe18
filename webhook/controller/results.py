"""What became of a pod's claim: one vocabulary for Events, metrics and logs, beside the failures of calls
(`webhook.cluster.failures.Kind`) and the reasons of the webhook (`webhook.reasons.Reason`)."""

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
    CLAIM_REFUSED = "ClaimRefused"

    @property
    def sentence(self) -> str:
        """In words, as Events begin."""
        return _SENTENCES[self]


_SENTENCES = {
    ClaimResult.CLAIM_CREATED: "the pod's ResourceClaim was created",
    ClaimResult.CLAIM_PRESENT: "the pod has its ResourceClaim",
    ClaimResult.NOTHING_TO_DO: "the pod waits for no ResourceClaim",
    ClaimResult.CLAIM_NAME_TAKEN: "the ResourceClaim that the pod names is not its own",
    ClaimResult.MODEL_FIT_UNUSABLE: "the pod's ResourceClaim cannot be worked out",
    ClaimResult.DEVICE_CLASS_MISSING: "the cluster has no such DeviceClass",
    ClaimResult.NOT_INJECTED: "the webhook was not asked when the pod was created, or the annotation came after that",
    ClaimResult.CLAIM_REFUSED: "the API server does not take the pod's ResourceClaim",
}
