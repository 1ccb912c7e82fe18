"""The controller's metrics. Callers use named functions; label names and values are set here and are bounded.

Series with known labels exist from the start, as 0: `increase` does not see a series that first appears as 1.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from certs.rotation import Action
from webhook.cluster.api_errors import ErrorReason, Scope
from webhook.controller.results import ClaimResult
from webhook.reasons import DENIAL_REASONS

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_REGISTRY = CollectorRegistry()
_RECONCILES = Counter("modelfit_reconcile", "Pod reconciles, by result.", ["result"], registry=_REGISTRY)
_CREATE_SECONDS = Histogram(
    "modelfit_claim_create_duration_seconds",
    "Duration of successful API calls that create a ResourceClaim.",
    registry=_REGISTRY,
    buckets=(0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
_EVENTS = Counter("modelfit_events", "Events on pods.", ["reason", "result"], registry=_REGISTRY)
_API_FAILURES = Counter("modelfit_api_failures", "Failed calls to the API server.", ["reason"], registry=_REGISTRY)
_LEADER = Gauge("modelfit_leader", "1 if this replica is the leader.", registry=_REGISTRY)
_DEPTH = Gauge("modelfit_queue_depth", "Pods that wait for a worker.", registry=_REGISTRY)
_OLDEST_SECONDS = Gauge("modelfit_queue_oldest_seconds", "Time that the oldest of them has waited.", registry=_REGISTRY)
_RETRYING = Gauge(
    "modelfit_queue_retrying",
    "Pods that back off after a failure, each by itself or with its namespace.",
    registry=_REGISTRY,
)
_NAMESPACES = Gauge(
    "modelfit_namespaces_backing_off",
    "Namespaces whose claims the API server refuses, by reason.",
    ["reason"],
    registry=_REGISTRY,
)
_NOT_INJECTED = Gauge(
    "modelfit_pods_not_injected",
    "Annotated pods without a claim, as of the leader's last scan.",
    registry=_REGISTRY,
)
_CERTIFICATE_EXPIRY = Gauge(
    "modelfit_certificate_expiry_timestamp_seconds",
    "Expiry of the leaf and of the signing CA in the Secret; 0 if there is none.",
    ["certificate"],
    registry=_REGISTRY,
)
_CERTIFICATE_SUCCESS = Gauge(
    "modelfit_certificate_last_success_timestamp_seconds",
    "Time of the last successful certificate reconcile by this replica as leader; before the first, its start.",
    ["secret"],
    registry=_REGISTRY,
)
_CERTIFICATE_CHANGES = Counter(
    "modelfit_certificate_changes", "Rotation steps written to the Secret.", ["action"], registry=_REGISTRY
)
_MISSING_CONFIGURATIONS = Gauge(
    "modelfit_webhook_configurations_missing",
    "Webhook configurations that do not exist or have no webhook of ours.",
    registry=_REGISTRY,
)
_CA_BUNDLE_PATCHES = Counter(
    "modelfit_ca_bundle_patches",
    "Patches of a webhook configuration's caBundle: a new bundle (published), or the same one restored (healed).",
    ["reason"],
    registry=_REGISTRY,
)


EVENT_RESULTS = (
    ClaimResult.CLAIM_NAME_TAKEN,
    ClaimResult.MODEL_FIT_MISSING,
    ClaimResult.MEMORY_LIMIT_TOO_LOW,
    ClaimResult.DUPLICATE_DEVICE_REQUEST,
    ClaimResult.DEVICE_CLASS_MISSING,
    ClaimResult.NOT_INJECTED,
)
"""The results that are the reason of an Event."""

NAMESPACE_REASONS = (
    *(reason for reason in ErrorReason if reason.scope is Scope.NAMESPACE),
    # A webhook that the API server cannot call: see `ApiError.scope`.
    ErrorReason.SERVER_ERROR,
)
"""The reasons for which a namespace backs off."""


def count_reconcile(result: ClaimResult | ErrorReason) -> None:
    """Counts a reconciled pod."""
    _RECONCILES.labels(result).inc()


def observe_create(seconds: float) -> None:
    """Records the duration of the API call that created a claim."""
    _CREATE_SECONDS.observe(seconds)


def count_event(reason: str, result: Literal["written", "suppressed", "failed"]) -> None:
    """Counts an Event by what became of it: `suppressed` if it was not written, to limit their number."""
    _EVENTS.labels(reason, result).inc()


def count_api_failure(reason: ErrorReason) -> None:
    """Counts a failed call to the API server."""
    _API_FAILURES.labels(reason).inc()


def set_certificate_expiry(certificate: str, expiry: datetime | None) -> None:
    """Sets when the `leaf` or the `ca` expires; None if there is none."""
    _CERTIFICATE_EXPIRY.labels(certificate).set(expiry.timestamp() if expiry else 0)


def set_certificate_success(secret: str, at: datetime) -> None:
    """Sets when the certificate in the Secret `namespace/name` was last reconciled."""
    _CERTIFICATE_SUCCESS.labels(secret).set(at.timestamp())


def count_certificate_change(action: Action) -> None:
    """Counts a rotation step that was written to the Secret."""
    _CERTIFICATE_CHANGES.labels(action).inc()


def set_missing_configurations(count: int) -> None:
    """Sets how many webhook configurations are missing."""
    _MISSING_CONFIGURATIONS.set(count)


def count_bundle_patch(reason: Literal["published", "healed"]) -> None:
    """Counts a patched caBundle."""
    _CA_BUNDLE_PATCHES.labels(reason).inc()


def set_gauge_sources(
    leader: Callable[[], bool],
    depth: Callable[[], int],
    oldest_seconds: Callable[[], float],
    retrying: Callable[[], int],
    not_injected: Callable[[], int],
    namespaces_backing_off: Callable[[], Mapping[str, int]],
) -> None:
    """Sets the functions that the gauges call at each scrape."""
    _LEADER.set_function(lambda: float(leader()))
    _DEPTH.set_function(lambda: float(depth()))
    _OLDEST_SECONDS.set_function(oldest_seconds)
    _RETRYING.set_function(lambda: float(retrying()))
    _NOT_INJECTED.set_function(lambda: float(not_injected()))
    for reason in NAMESPACE_REASONS:
        _NAMESPACES.labels(reason).set_function(partial(_count, namespaces_backing_off, reason))


def _count(counts: Callable[[], Mapping[str, int]], key: str) -> float:
    return float(counts().get(key, 0))


def exposition() -> bytes:
    """All metrics in Prometheus' text format."""
    return generate_latest(_REGISTRY)


def _create_series() -> None:
    """Creates the series that start at 0."""
    for error_reason in ErrorReason:
        _API_FAILURES.labels(error_reason)
    for namespace_reason in NAMESPACE_REASONS:
        _NAMESPACES.labels(namespace_reason)
    for result in (*ClaimResult, *ErrorReason):
        _RECONCILES.labels(result)
    for reason in (*EVENT_RESULTS, *sorted(DENIAL_REASONS), *(reason for reason in ErrorReason if reason.reported)):
        _EVENTS.labels(reason, "written")
    for action in (action for action in Action if action is not Action.KEEP):
        _CERTIFICATE_CHANGES.labels(action)
    for cause in ("published", "healed"):
        _CA_BUNDLE_PATCHES.labels(cause)


_create_series()
