"""The controller's metrics. Others call named functions; label names and values are decided here, and are bounded.

What is counted is there from the start, as 0: a series that begins with its first event, as 1, never increases.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from certs.rotation import Action
from webhook.cluster.api_errors import ErrorReason
from webhook.controller.results import ClaimResult
from webhook.reasons import REFUSALS

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_REGISTRY = CollectorRegistry()
_CLAIMS = Counter("modelfit_claims", "Pods looked at, by what became of their claim.", ["outcome"], registry=_REGISTRY)
_SECONDS = Histogram(
    "modelfit_claim_create_seconds",
    "Time that the API server takes to create a claim.",
    registry=_REGISTRY,
    buckets=(0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
_EVENTS = Counter("modelfit_events", "Events on pods.", ["reason", "outcome"], registry=_REGISTRY)
_FAILURES = Counter("modelfit_api_failures", "Failed calls to the API server.", ["kind"], registry=_REGISTRY)
_LEADER = Gauge("modelfit_leader", "1 where this replica is the one that acts.", registry=_REGISTRY)
_DEPTH = Gauge("modelfit_queue_depth", "Pods that wait for a worker.", registry=_REGISTRY)
_AGE = Gauge("modelfit_queue_oldest_seconds", "How long the first of them has waited.", registry=_REGISTRY)
_RETRYING = Gauge("modelfit_queue_retrying", "Pods whose last attempt failed.", registry=_REGISTRY)
_NOT_INJECTED = Gauge(
    "modelfit_pods_not_injected",
    "Annotated pods without a claim, as the replica that acts last saw them.",
    registry=_REGISTRY,
)
_END = Gauge(
    "modelfit_certificate_expiry_timestamp_seconds",
    "End of the life of what is in the Secret: the leaf, and the authority that signs.",
    ["certificate"],
    registry=_REGISTRY,
)
_KEPT = Gauge(
    "modelfit_certificate_last_success_timestamp_seconds",
    "When this replica, leading, last found everything about the certificate right or set it right; or its start.",
    ["secret"],
    registry=_REGISTRY,
)
_CHANGES = Counter("modelfit_certificate_changes", "Steps taken in the Secret.", ["action"], registry=_REGISTRY)
_MISSING = Gauge(
    "modelfit_webhook_configurations_missing",
    "Webhook configurations that are not there, or have no webhook of ours.",
    registry=_REGISTRY,
)
_PATCHES = Counter(
    "modelfit_ca_bundle_patches",
    "Webhook configurations given a bundle: a new one, or the same one again after somebody wrote over it.",
    ["reason"],
    registry=_REGISTRY,
)


def outcome(name: str) -> None:
    """A pod was looked at; `name` is an Outcome, or the Kind of the failure."""
    _CLAIMS.labels(name).inc()


def created(seconds: float) -> None:
    """A claim was created in so many seconds."""
    _SECONDS.observe(seconds)


def event(reason: str, what: str) -> None:
    """An Event was `written`, `suppressed` or `failed`."""
    _EVENTS.labels(reason, what).inc()


def failed(kind: str) -> None:
    """A call failed."""
    _FAILURES.labels(kind).inc()


def certificate_end(certificate: str, end: datetime | None) -> None:
    """The `leaf` or the `authority` ends then; None: there is none."""
    _END.labels(certificate).set(end.timestamp() if end else 0)


def certificate_kept(secret: str, at: datetime) -> None:
    """All was well with the certificate then."""
    _KEPT.labels(secret).set(at.timestamp())


def certificate_changed(action: str) -> None:
    """A step was taken; `action` is a `certs.rotation.Action`."""
    _CHANGES.labels(action).inc()


def configurations_missing(count: int) -> None:
    """So many of those that are to be looked after are not there."""
    _MISSING.set(count)


def bundle_patched(reason: Literal["published", "healed"]) -> None:
    """The bundle was written into a webhook configuration."""
    _PATCHES.labels(reason).inc()


def watch(
    leader: Callable[[], bool],
    depth: Callable[[], int],
    age: Callable[[], float],
    retrying: Callable[[], int],
    not_injected: Callable[[], int],
) -> None:
    """Where the gauges come from, read at each scrape."""
    _LEADER.set_function(lambda: float(leader()))
    _DEPTH.set_function(lambda: float(depth()))
    _AGE.set_function(age)
    _RETRYING.set_function(lambda: float(retrying()))
    _NOT_INJECTED.set_function(lambda: float(not_injected()))


def exposition() -> bytes:
    """All of them, as Prometheus scrapes them."""
    return generate_latest(_REGISTRY)


def _begin() -> None:
    """Makes the series that are to begin at 0."""
    for kind in ErrorReason:
        _FAILURES.labels(kind)
    for name in (*ClaimResult, *ErrorReason):
        _CLAIMS.labels(name)
    told = (ClaimResult.CLAIM_NAME_TAKEN, ClaimResult.DEVICE_CLASS_MISSING)
    for reason in (*told, *sorted(REFUSALS), *(kind for kind in ErrorReason if kind.reported)):
        _EVENTS.labels(reason, "written")
    for action in (action for action in Action if action is not Action.KEEP):
        _CHANGES.labels(action)
    for cause in ("published", "healed"):
        _PATCHES.labels(cause)


_begin()
