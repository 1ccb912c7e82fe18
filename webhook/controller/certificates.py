"""Looks after the webhook's certificate: in the Secret that it is served from, and in the configurations that trust it.

What is due is decided by `certs`, one step a look: it lets no authority sign before it is seen in every configuration,
and drops none before the time is over in which a replica may still serve its leaf. The order of a look keeps the bundle
ahead of the leaf, with several controllers too: the configurations are read first; who is trusted additionally is
published before the Secret is written, and who is not any more is dropped after it; and nothing is published in a
configuration that has changed since it was read.

Looks are frequent and cheap (a read of each object), so that they stand for a watch: what somebody wrote over is healed
by the next one, and a failed look is made up for by a later one.
"""

import logging
import random
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from certs import entries
from certs.converge import Outcome, converge
from certs.evidence import Evidence
from certs.policy import Policy
from certs.rotation import Action
from certs.state import State, bundle
from certs.store import Store, Stored
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.webhook_configurations import WebhookConfiguration
from webhook.controller import controller_metrics
from webhook.controller.bundles import Bundles
from webhook.controller.trusted import Seen, shortcomings

LOOK_SECONDS = 2.0
"""Seconds between looks."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds until the next look after a failure: doubled with each failure in a row, from the first to the longest."""

_log = logging.getLogger("modelfit.certificates")


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class _Announced:
    """The store, of whose every write `announce` hears first. Not of a creation: nothing can be mounted before it."""

    store: Store
    announce: Callable[[bytes], None]

    def read(self) -> Stored | None:
        return self.store.read()

    def create(self, data: Mapping[str, bytes]) -> None:
        self.store.create(data)

    def write(self, data: Mapping[str, bytes], expected_version: str) -> None:
        self.announce(data[entries.BUNDLE])
        self.store.write(data, expected_version)


@dataclass
class Certificates:
    """`look` at a time, or `run`. `name` is the Secret's for people, `names` what the leaf answers for."""

    name: str
    store: Store
    configurations: Sequence[WebhookConfiguration]
    names: Collection[str]
    policy: Policy
    clock: Callable[[], datetime] = now
    _again: threading.Event = field(default_factory=threading.Event)
    _seen: Seen | None = None
    _missing: Sequence[str] = ()
    _failure: ApiError | None = None
    _failures: int = 0
    _published: dict[str, bytes] = field(default_factory=dict)

    def run(self, stop: threading.Event, leading: Callable[[], bool]) -> None:
        """Until `stop`, followed by `nudge`. Who does not lead looks too, and touches nothing."""
        controller_metrics.set_certificate_success(self.name, self.clock())
        while not stop.is_set():
            self._again.clear()
            self._again.wait(self.look(act=leading()))

    def nudge(self) -> None:
        """Has the next look come at once."""
        self._again.set()

    def problem(self) -> str:
        """What keeps the API server from trusting what the webhook serves, or us from seeing to it, as far as the last
        look shows; empty where nothing does."""
        if self._failure is not None and not self._failure.is_transient:
            return f"the webhook's certificate: {self._failure}"
        if self._seen is None:
            return "the webhook's certificate: not looked at yet"
        found = shortcomings(self._seen, self.names, self.clock())
        return f"the webhook's certificate: {found[0]}" if found else ""

    def remark(self) -> str:
        """Which webhook configurations the last look missed, if any. No problem of the certificate's: an installation
        makes them last, and waits for us before."""
        return f"ready, but the API server asks no webhook by {', '.join(self._missing)}" if self._missing else ""

    def look(self, *, act: bool) -> float:
        """One look; with `act`, what is due is done. Seconds until the next. Raises nothing: it is tried again."""
        at_least = 0.0
        try:
            self._look(act)
        except ApiError as failure:
            controller_metrics.count_api_failure(failure.reason)
            self._failure, at_least = failure, failure.retry_after or 0.0
            level = logging.INFO if failure.reason is ErrorReason.CONFLICT else logging.WARNING
            fields = {"secret": self.name, "reason": failure.reason, "why": str(failure)}
            _log.log(level, "the certificate is looked at again soon", extra={"fields": fields})
        except Exception:
            _log.exception("could not look after the certificate", extra={"fields": {"secret": self.name}})
        else:
            self._failure, self._failures = None, 0
            if act:
                controller_metrics.set_certificate_success(self.name, self.clock())
            return LOOK_SECONDS
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._failures, 16)) * random.uniform(0.5, 1.0)  # noqa: S311
        self._failures += 1
        return max(pause, at_least)

    def _look(self, act: bool) -> None:
        bundles = Bundles(self.configurations, self._tell_published)
        self._tell_missing(bundles.missing)
        if act:
            store = _Announced(self.store, bundles.announce)
            evidence = Evidence(bundles=bundles.evidence)
            outcome = converge(store, self.names, self.clock(), self.policy, evidence)
            self._tell(outcome)
            state, data = outcome.state, entries.dump(outcome.state)
            self._publish(bundles, bundle(state))
        else:
            stored = self.store.read()
            data = dict(stored.data) if stored else {}
            state = entries.parse(data).state
        self._seen = Seen(data, bundles.held)
        _show(state)
        if bundles.failures:
            raise bundles.failures[0]

    def _publish(self, bundles: Bundles, wanted: bytes) -> None:
        # After a lost race there may be nothing: somebody else will see to it, or we at the next look.
        if wanted:
            bundles.publish(wanted)
            self._published |= {str(each): wanted for each in bundles.with_bundle(wanted)}

    def _tell(self, outcome: Outcome) -> None:
        fields = {"secret": self.name, "action": outcome.action, "why": outcome.why}
        if outcome.lost:
            _log.info("another controller was faster", extra={"fields": fields})
        elif outcome.action is not Action.KEEP:
            controller_metrics.count_certificate_change(outcome.action)
            _log.info("changed the certificate", extra={"fields": fields})

    def _tell_missing(self, missing: Sequence[str]) -> None:
        controller_metrics.set_missing_configurations(len(missing))
        if missing and missing != self._missing:
            fields = {"configurations": ", ".join(missing)}
            _log.warning("webhook configurations are not there, or without a webhook of ours", extra={"fields": fields})
        self._missing = missing

    def _tell_published(self, configuration: WebhookConfiguration, webhooks: Sequence[str], wanted: bytes) -> None:
        where = str(configuration)
        again = self._published.get(where) == wanted
        controller_metrics.count_bundle_patch("healed" if again else "published")
        message = "somebody wrote over the caBundle; it is written again" if again else "published the authority"
        fields = {"configuration": where, "webhooks": ", ".join(webhooks)}
        _log.log(logging.WARNING if again else logging.INFO, message, extra={"fields": fields})


def _show(state: State) -> None:
    ends: Mapping[str, datetime | None] = {
        "leaf": state.leaf.certificate.not_valid_after_utc if state.leaf else None,
        "ca": state.current.certificate.not_valid_after_utc if state.current else None,
    }
    for what, end in ends.items():
        controller_metrics.set_certificate_expiry(what, end)
