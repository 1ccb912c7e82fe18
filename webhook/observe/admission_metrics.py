"""The webhook's metrics. Handlers call named functions; label names and values are decided here, and are bounded.

With several workers the folder in PROMETHEUS_MULTIPROC_DIR, set before this module is imported, adds them up.

What alerts count is there from the start, as 0: a series that begins with its first event, as 1, never increases.
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

Cause: TypeAlias = Literal["handshake", "handshake_timeout", "request", "request_timeout", "reset", "accept"]

# A second series for every counter, of no use to anybody here.
disable_created_metrics()  # type: ignore[no-untyped-call]

_REVIEWS = Counter(
    "modelfit_admission_reviews",
    "Admission reviews answered.",
    ["webhook", "operation", "outcome", "reason"],
)
_MALFORMED = Counter("modelfit_malformed_calls", "Calls that are no admission review, by HTTP status.", ["status"])
_SECONDS = Histogram(
    "modelfit_admission_seconds",
    "Time from the read request to the answer.",
    ["webhook"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)
_CONNECTIONS = Counter(
    "modelfit_broken_connections", "Connections that ended for want of a usable request, by cause.", ["cause"]
)
_EXPIRY = Gauge(
    "modelfit_serving_certificate_expiry_timestamp_seconds",
    "End of the serving certificate's life.",
    multiprocess_mode="mostrecent",
)
_UNUSABLE = Gauge(
    "modelfit_unusable_certificate",
    "1 while the certificate files cannot be served; the pair of before is.",
    # The workers see the same files.
    multiprocess_mode="mostrecent",
)


def reviewed(webhook: str, operation: str, allowed: bool, reason: Reason, seconds: float) -> None:
    """One review was answered."""
    _review(webhook, operation if operation in OPERATIONS else "other", allowed, reason).inc()
    _latency(webhook).observe(seconds)


def failed(webhook: str, operation: str) -> None:
    """One review was answered with our own error."""
    _error(webhook, operation if operation in OPERATIONS else "other").inc()


def malformed(status: int) -> None:
    """One call was refused with an HTTP status."""
    _MALFORMED.labels(str(status)).inc()


def broken_connection(cause: Cause) -> None:
    """A peer did not get as far as a request that can be answered."""
    _CONNECTIONS.labels(cause).inc()


def serving_certificate(expiry: float) -> None:
    """The certificate in use ends at this Unix time."""
    _EXPIRY.set(expiry)


def certificate_files(usable: bool) -> None:
    """They were read, and can be served or not."""
    _UNUSABLE.set(not usable)


def exposition(names: Iterable[str], multiprocess: bool) -> bytes:
    """The metrics as Prometheus scrapes them, of all workers where there are several; `names` restricts them."""
    registry = REGISTRY
    if multiprocess:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry.restricted_registry(names) if names else registry)


# Looking a child up by its labels costs more than counting it.
@cache
def _review(webhook: str, operation: str, allowed: bool, reason: Reason) -> Counter:
    return _REVIEWS.labels(webhook, operation, "allowed" if allowed else "denied", reason.value)


@cache
def _latency(webhook: str) -> Histogram:
    return _SECONDS.labels(webhook)


def _error(webhook: str, operation: str) -> Counter:
    return _REVIEWS.labels(webhook, operation, "error", "InternalError")


def _begin() -> None:
    """Makes the series that are to begin at 0: what the configurations of the chart send, and can be answered."""
    for webhook, operations in (("mutate", ["CREATE"]), ("validate", ["CREATE", "UPDATE"])):
        _latency(webhook)
        for operation in operations:
            for reason in sorted(DENIAL_REASONS):
                _review(webhook, operation, False, reason)
        for operation in (*operations, "other"):
            _error(webhook, operation)


_begin()
