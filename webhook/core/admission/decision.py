"""The decision on a review, as a value."""

from collections.abc import Iterable
from dataclasses import dataclass

from webhook.core.admission.json_patch import Operation
from webhook.errors import Denied, FieldError, truncate_warnings
from webhook.reasons import Reason


@dataclass(frozen=True, slots=True)
class Decision:
    """What the webhook answers."""

    allowed: bool
    reason: Reason
    patch: tuple[Operation, ...] = ()
    warnings: tuple[str, ...] = ()
    message: str = ""
    """Empty if allowed, else a sentence for each of `errors`."""
    errors: tuple[FieldError, ...] = ()
    claim: str | None = None
    """The name of the pod's claim; None if it gets none."""

    @classmethod
    def allow(cls, reason: Reason, warnings: Iterable[str] = ()) -> "Decision":
        """Allows the object unchanged."""
        return cls(True, reason, warnings=truncate_warnings(warnings))

    @classmethod
    def deny(cls, denied: Denied) -> "Decision":
        """Denies the object."""
        return cls(False, denied.reason, message=str(denied), errors=denied.errors)
