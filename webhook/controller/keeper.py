"""Carries out the plan for one pod. Called again for the same pod, it finds it done."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from webhook.cluster.api import METADATA, Api
from webhook.cluster.discovery import ResourceApi
from webhook.cluster.failures import Failure, Kind
from webhook.controller import metrics, records
from webhook.controller.events import Recorder, about
from webhook.controller.outcomes import Outcome
from webhook.controller.plan import Plan, claim_name, missing_classes, plan, taken, without_classes
from webhook.core.claims import versions
from webhook.core.policy import Policy

REMEMBERED_SECONDS = 30.0
"""Seconds for which a claim counts as there because we made it, though the watch has not shown it yet."""

_log = logging.getLogger("modelfit.keeper")


class Verdict(NamedTuple):
    """What is to follow: nothing, or another attempt, after `at_least` so many seconds."""

    again: bool = False
    at_least: float = 0.0


class Copies(NamedTuple):
    """The local copies of what is in the cluster: metadata by key, and the names of the DeviceClasses (None while they
    are not known)."""

    pod: Callable[[str], Mapping[str, object] | None]
    claim: Callable[[str], Mapping[str, object] | None]
    classes: Callable[[], Collection[str] | None]


class Keeper:
    """Sees to it that a pod has its claim. Safe to share between workers, each with another pod."""

    def __init__(self, api: Api, resource: ResourceApi, policy: Policy, copies: Copies, recorder: Recorder) -> None:
        self._api, self._resource, self._policy = api, resource, policy
        self._copies, self._recorder = copies, recorder
        self._made = Remembered()

    def see_to(self, key: str) -> Verdict:
        """Does what the pod `namespace/name` needs."""
        pod = self._copies.pod(key)
        claim_key = records.key(pod, claim_name(pod)) if pod else ""
        if pod and self._made.holds(claim_key, str(pod.get("uid"))):
            return Verdict()
        claim = self._copies.claim(claim_key) if pod else None
        todo = plan(pod, claim, self._policy, self._copies.classes())
        if pod is None or todo.claim is None:
            return self._stand(pod or {}, todo)
        return self._create(pod, todo.claim, claim_key)

    def forget(self, claim: Mapping[str, object]) -> None:
        """A claim with this metadata is gone."""
        self._made.drop(records.key(claim))

    def _stand(self, pod: Mapping[str, object], todo: Plan) -> Verdict:
        """Nothing is to be created; somebody may have to be told. A name that is taken may become free, and nobody
        tells us: it is tried again."""
        metrics.outcome(todo.outcome)
        if todo.message:
            self._recorder.warn(pod, todo.reason, todo.message)
        return Verdict(again=todo.outcome is Outcome.CLAIM_NAME_TAKEN)

    def _create(self, pod: Mapping[str, object], claim: Mapping[str, object], claim_key: str) -> Verdict:
        version = self._resource.version
        if version is None:
            return Verdict(again=True)
        namespace = str(pod.get("namespace"))
        began = time.monotonic()
        try:
            body = versions.served(claim, version)
            self._api.call("POST", self._resource.path("resourceclaims", namespace), body=body, accept=METADATA)
        except Failure as failure:
            if failure.kind is Kind.ALREADY_EXISTS:
                return self._compare(pod, claim_key)
            return self._failed(pod, failure)
        metrics.created(time.monotonic() - began)
        metrics.outcome(Outcome.CLAIM_CREATED)
        self._made.add(claim_key, str(pod.get("uid")))
        _log.info("created a claim", extra={"fields": {**about(pod), "claim": claim_name(pod)}})
        self._look_for_classes(pod, claim)
        return Verdict()

    def _compare(self, pod: Mapping[str, object], claim_key: str) -> Verdict:
        """A claim of that name is there already: ours, of before the watch showed it, or somebody else's."""
        namespace, _, name = claim_key.partition("/")
        try:
            there = self._api.call("GET", self._resource.path("resourceclaims", namespace, name), accept=METADATA)
        except Failure as failure:
            # NotFound: it went away in between, and the next attempt creates it.
            return self._failed(pod, failure)
        claim = records.metadata(there)
        if records.owned_by(claim, pod):
            self._made.add(claim_key, str(pod.get("uid")))
            return self._stand(pod, Plan(Outcome.CLAIM_PRESENT))
        return self._stand(pod, taken(claim, pod))

    def _failed(self, pod: Mapping[str, object], failure: Failure) -> Verdict:
        metrics.failed(failure.kind)
        metrics.outcome(failure.kind)
        fields = {**about(pod), "claim": claim_name(pod), "reason": failure.kind, "why": failure.message}
        _log.warning("no claim yet", extra={"fields": fields})
        if failure.kind is Kind.NOT_FOUND:
            self._look_for_version()
        if failure.kind.reported:
            text = f"{Outcome.CLAIM_REFUSED.sentence}: {failure}"
            self._recorder.warn(pod, failure.kind, text)
        return Verdict(again=failure.kind.retried, at_least=failure.retry_after or 0.0)

    def _look_for_version(self) -> None:
        try:
            self._resource.refresh()
        except Failure as failure:
            metrics.failed(failure.kind)

    def _look_for_classes(self, pod: Mapping[str, object], claim: Mapping[str, object]) -> None:
        """The API server takes a claim for a class that does not exist, and the pod waits without a word."""
        known = self._copies.classes()
        missing = [] if known is None else missing_classes(claim, known)
        if missing:
            metrics.outcome(Outcome.DEVICE_CLASS_MISSING)
            self._recorder.warn(pod, Outcome.DEVICE_CLASS_MISSING, without_classes(missing))


class Remembered:
    """The claims that were made lately, each with the uid of its pod."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._made: dict[str, tuple[str, float]] = {}
        """In the order in which they were made."""

    def add(self, claim: str, uid: str) -> None:
        with self._lock:
            self._made.pop(claim, None)
            self._made[claim] = (uid, self._clock())
            while self._clock() - next(iter(self._made.values()))[1] > REMEMBERED_SECONDS:
                del self._made[next(iter(self._made))]

    def holds(self, claim: str, uid: str) -> bool:
        with self._lock:
            owner, at = self._made.get(claim, ("", 0.0))
            return owner == uid and self._clock() - at <= REMEMBERED_SECONDS

    def drop(self, claim: str) -> None:
        with self._lock:
            self._made.pop(claim, None)
