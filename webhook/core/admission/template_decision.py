"""The decision on a workload: its pod template must be one whose pods would be injected.

Whether the pods are injected is checked when they are created.
"""

from webhook.core.admission import pod_templates, queueing
from webhook.core.admission.decision import Decision
from webhook.core.admission.pod_decision import plan_injection
from webhook.core.admission.pod_templates import Template
from webhook.core.admission.review import Review
from webhook.core.admission_config import AdmissionConfig
from webhook.errors import Denied, MalformedCall
from webhook.reasons import Reason


def validate(review: Review, path: tuple[str, ...], config: AdmissionConfig) -> Decision:
    """Whether a workload with its pod template at `path` may be stored."""
    template = pod_templates.from_workload(path, review.required_object())
    try:
        exemption = _find_exemption(review, template, path)
        if exemption:
            misplaced = exemption is Reason.NOT_ANNOTATED and _newly_misplaced(review, template, path)
            misplacements = template.misplacement_warnings() if misplaced else ()
            return Decision.allow(exemption, template.prefixed(review.kind, misplacements))
        plan = plan_injection(review, template.pod, config)
    except Denied as denied:
        return Decision.deny(template.qualify_errors(denied))
    except MalformedCall as malformed:
        raise MalformedCall(template.qualify(str(malformed))) from None
    warnings = [plan.summarize_for_each_pod(), *plan.warnings]
    if not plan.devices.requirements.cpu_only:
        warnings += queueing.workload_warnings(review.group, template)
    return Decision.allow(Reason.VALID, template.prefixed(review.kind, map(template.qualify, warnings)))


def _find_exemption(review: Review, template: Template, path: tuple[str, ...]) -> Reason | None:
    """Why a template is exempt; None if it is not. An update that changes none of its annotations is exempt, so that a
    workload with an invalid one can still be scaled."""
    exemption = template.pod.find_exemption()
    if exemption:
        return exemption
    if template.being_deleted:
        return Reason.BEING_DELETED
    if template.is_managed:
        return Reason.MADE_BY_A_WORKLOAD
    if review.operation == "UPDATE":
        old = pod_templates.from_workload(path, review.old_object or {})
        if not old.pod.find_exemption() and old.annotations == template.annotations:
            return Reason.ANNOTATION_UNCHANGED
    return None


def _newly_misplaced(review: Review, template: Template, path: tuple[str, ...]) -> bool:
    """Whether this request puts the annotation outside the pod template. A managed workload has it from its owner."""
    if template.being_deleted or template.is_managed:
        return False
    return (
        review.operation == "CREATE"
        or template.misplaced != pod_templates.from_workload(path, review.old_object or {}).misplaced
    )
