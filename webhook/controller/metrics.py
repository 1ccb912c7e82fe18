"""The controller's metrics. Others call named functions; label names and values are decided here, and are bounded."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

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


def watch(
    leader: Callable[[], bool], depth: Callable[[], int], age: Callable[[], float], retrying: Callable[[], int]
) -> None:
    """Where the gauges come from, read at each scrape."""
    _LEADER.set_function(lambda: float(leader()))
    _DEPTH.set_function(lambda: float(depth()))
    _AGE.set_function(age)
    _RETRYING.set_function(lambda: float(retrying()))


def exposition() -> bytes:
    """All of them, as Prometheus scrapes them."""
    return generate_latest(_REGISTRY)
