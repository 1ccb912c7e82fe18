"""The queued keys of one namespace, and the back-off of the namespace."""

from enum import StrEnum

from webhook.backoff import Backoff

FIRST_SECONDS = 0.25
"""Back-off after the first failure, of a key and of a namespace."""
MAX_SECONDS = 60.0
"""Maximum back-off of a key. A key that waits with others for its namespace is tried about as often."""
TRIAL_SECONDS = 5.0
"""Maximum back-off of a namespace in which many keys wait: each is tried in turn."""
NEW_SECONDS = 2.0
"""Maximum back-off of a namespace before a key that was never tried: a pod within the quota waits for others that are
not, but not for long, and each pod soon has an Event."""
FREED_SECONDS = 0.5
"""Delay of the trial after an object of the namespace was deleted: the quota controller needs a moment to count."""


class FlowKind(StrEnum):
    """Why the keys of a flow wait."""

    NEW = "new"
    """They were never tried."""
    DUE = "due"
    """They failed, and their own back-off is over."""
    REFUSED = "refused"
    """They were refused for a reason of their namespace."""


class Flow:
    """Keys of one namespace that are served in order.

    After a failure for a reason of the namespace the flow backs off: `failures` is not 0, and keys are served one at a
    time, each as the flow's `trial`, when the back-off ends. The success of a trial ends the back-off.
    """

    __slots__ = ("failed", "failures", "keys", "kind", "namespace", "opened", "trial")

    def __init__(self, namespace: str, kind: FlowKind) -> None:
        self.namespace = namespace
        self.kind = kind
        self.keys: dict[str, float] = {}
        """Key to time of arrival, in order."""
        self.failures = 0
        self.failed = -MAX_SECONDS
        """Time of the last failure that counts."""
        self.trial: str | None = None
        self.opened = 0.0
        """When the last back-off ended: keys have waited for a worker since then."""

    def fail(self, now: float) -> float:
        """Counts a failure. Returns the seconds until the next trial."""
        self.failures += 1
        self.failed = now
        maximum = NEW_SECONDS
        if self.kind is FlowKind.REFUSED:
            maximum = max(TRIAL_SECONDS, MAX_SECONDS / max(1, len(self.keys)))
        return Backoff(FIRST_SECONDS, maximum).delay(self.failures)

    def open(self, now: float) -> None:
        """Ends the back-off."""
        if self.failures:
            self.failures, self.opened = 0, now

    def oldest_seconds(self, now: float) -> float:
        """Seconds for which the oldest key has waited for a worker; 0 if there is none or the flow backs off."""
        if self.failures or not self.keys:
            return 0.0
        return now - max(self.opened, next(iter(self.keys.values())))


class NamespaceKeys:
    """The keys of a namespace: those that wait, in flows, and those that workers have."""

    __slots__ = ("due", "invalid", "new", "processing", "refused")

    def __init__(self, namespace: str) -> None:
        self.new = Flow(namespace, FlowKind.NEW)
        self.due = Flow(namespace, FlowKind.DUE)
        self.refused: dict[str, Flow] = {}
        """Reason to the keys that were refused for it."""
        self.processing = 0
        """Number of keys that workers have."""
        self.invalid: set[str] = set()
        """Keys that failed for a reason of their own pod."""

    @property
    def flows(self) -> tuple[Flow, ...]:
        return (self.new, self.due, *self.refused.values())

    @property
    def is_empty(self) -> bool:
        return not (self.processing or self.refused or self.invalid or self.new.keys or self.due.keys)
