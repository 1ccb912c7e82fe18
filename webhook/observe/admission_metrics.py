"""The webhook's metrics. Label names and values are defined here and bounded; callers use the functions below.

Several workers add up their metrics in the folder PROMETHEUS_MULTIPROC_DIR, which must be set before this module is
imported.

Series that alerts count start at 0. A series that appears with its first event starts at 1, and its increase is 0.
"""

from collections.abc import Iterable
from functools import cache
from typing import Literal, TypeAlias

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

from webhook.reasons import DENIAL_REASONS, Reason

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})

ConnectionFailure: TypeAlias = Literal[
    "handshake", "handshake_timeout", "request", "request_timeout", "reset", "accept"
]

# Otherwise each counter has a second series, its creation time.
disable_created_metrics()  # type: ignore[no-untyped-call]

_REVIEWS = Counter(
    "modelfit_admission_reviews",
    "Admission reviews answered.",
    ["webhook", "operation", "outcome", "reason"],
)
_MALFORMED = Counter(
    "modelfit_malformed_calls", "Rejected requests that are not admission reviews, by HTTP status.", ["status"]
)
_DURATION = Histogram(
    "modelfit_admission_duration_seconds",
    "Time to decide a decoded admission review and encode the response.",
    ["webhook"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)
_CONNECTION_FAILURES = Counter(
    "modelfit_broken_connections", "Connections that failed before a usable request, by cause.", ["cause"]
)
_EXPIRY = Gauge(
    "modelfit_serving_certificate_expiry_timestamp_seconds",
    "Expiry time of the serving certificate.",
    multiprocess_mode="mostrecent",
)
_UNUSABLE = Gauge(
    "modelfit_unusable_certificate",
    "1 while the certificate files are unusable and the previous pair is served.",
    # All workers read the same files.
    multiprocess_mode="mostrecent",
)


def count_review(webhook: str, operation: str, allowed: bool, reason: Reason, seconds: float) -> None:
    """Counts an answered review."""
    _reviews(webhook, operation if operation in OPERATIONS else "other", allowed, reason).inc()
    _duration(webhook).observe(seconds)


def count_internal_error(webhook: str, operation: str) -> None:
    """Counts a review that was answered with an internal error."""
    _internal_errors(webhook, operation if operation in OPERATIONS else "other").inc()


def count_rejected_request(status: int) -> None:
    """Counts a request that was rejected with an HTTP status."""
    _MALFORMED.labels(str(status)).inc()


def count_connection_failure(cause: ConnectionFailure) -> None:
    """Counts a connection that failed."""
    _CONNECTION_FAILURES.labels(cause).inc()


def set_certificate_expiry(timestamp: float) -> None:
    """Sets the Unix time at which the served certificate expires."""
    _EXPIRY.set(timestamp)


def set_certificate_usable(usable: bool) -> None:
    """Sets whether the certificate files can be served."""
    _UNUSABLE.set(not usable)


def exposition(names: Iterable[str], multiprocess: bool) -> bytes:
    """The metrics in the Prometheus text format. `multiprocess` adds up all workers; `names` selects metrics."""
    registry = REGISTRY
    if multiprocess:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry.restricted_registry(names) if names else registry)


# Cached, because `labels` costs more than `inc`.
@cache
def _reviews(webhook: str, operation: str, allowed: bool, reason: Reason) -> Counter:
    return _REVIEWS.labels(webhook, operation, "allowed" if allowed else "denied", reason.value)


@cache
def _duration(webhook: str) -> Histogram:
    return _DURATION.labels(webhook)


def _internal_errors(webhook: str, operation: str) -> Counter:
    return _REVIEWS.labels(webhook, operation, "error", "InternalError")


def _initialize_series() -> None:
    """Creates the series that start at 0: the operations that the chart registers, with every denial."""
    for webhook, operations in (("mutate", ["CREATE"]), ("validate", ["CREATE", "UPDATE"])):
        _duration(webhook)
        for operation in operations:
            for reason in sorted(DENIAL_REASONS):
                _reviews(webhook, operation, False, reason)
        for operation in (*operations, "other"):
            _internal_errors(webhook, operation)


_initialize_series()
