"""The entry points of both webhooks and of `modelfit preview`: a decision for every review that `review.parse` accepts.

Both raise MalformedCall if the object in the review does not match its kind.
"""

from webhook.core.admission import pod_decision, pod_templates, template_decision
from webhook.core.admission.decision import Decision
from webhook.core.admission.pod_decision import mutate
from webhook.core.admission.review import Review
from webhook.core.admission_config import AdmissionConfig
from webhook.reasons import Reason

__all__ = ["mutate", "validate"]


def validate(review: Review, config: AdmissionConfig) -> Decision:
    """Whether the annotations of a pod, or of a workload's pod template, are valid, and whether a pod that needs a
    claim has one."""
    if review.subresource:
        return Decision.allow(Reason.SUBRESOURCE)
    template_path = pod_templates.find_path(review.group, review.kind)
    if not (review.is_pod or template_path):
        return Decision.allow(Reason.NOT_A_POD)
    if review.operation not in ("CREATE", "UPDATE"):
        return Decision.allow(Reason.OTHER_OPERATION)
    if template_path:
        return template_decision.validate(review, template_path, config)
    return pod_decision.validate(review, config)
