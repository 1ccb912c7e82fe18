"""Carries out the plan for one pod. Called again for the same pod, it finds it done."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from webhook.cluster.api import METADATA, Api
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.discovery import ResourceApi
from webhook.controller import controller_metrics, object_metadata
from webhook.controller.claim_actions import (
    ClaimAction,
    claim_name,
    decide_action,
    missing_classes,
    taken,
    without_classes,
)
from webhook.controller.events import Recorder, about
from webhook.controller.results import ClaimResult
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import api_versions

REMEMBERED_SECONDS = 30.0
"""Seconds for which a claim counts as there because we made it, though the watch has not shown it yet."""

_log = logging.getLogger("modelfit.keeper")


class Result(NamedTuple):
    """What is to follow: nothing, or another attempt, after `at_least` so many seconds."""

    again: bool = False
    at_least: float = 0.0


class Listers(NamedTuple):
    """The local copies of what is in the cluster: metadata by key, and the names of the DeviceClasses (None while they
    are not known)."""

    pod: Callable[[str], Mapping[str, object] | None]
    claim: Callable[[str], Mapping[str, object] | None]
    classes: Callable[[], Collection[str] | None]


class PodReconciler:
    """Sees to it that a pod has its claim. Safe to share between workers, each with another pod."""

    def __init__(
        self, api: Api, resource: ResourceApi, config: AdmissionConfig, copies: Listers, recorder: Recorder
    ) -> None:
        self._api, self._resource, self._policy = api, resource, config
        self._copies, self._recorder = copies, recorder
        self._made = Expectations()

    def see_to(self, key: str) -> Result:
        """Does what the pod `namespace/name` needs."""
        pod = self._copies.pod(key)
        claim_key = object_metadata.key(pod, claim_name(pod)) if pod else ""
        if pod and self._made.holds(claim_key, str(pod.get("uid"))):
            return Result()
        claim = self._copies.claim(claim_key) if pod else None
        todo = decide_action(pod, claim, self._policy, self._copies.classes())
        if pod is None or todo.claim is None:
            return self._stand(pod or {}, todo)
        return self._create(pod, todo.claim, claim_key)

    def forget(self, claim: Mapping[str, object]) -> None:
        """A claim with this metadata is gone."""
        self._made.drop(object_metadata.key(claim))

    def _stand(self, pod: Mapping[str, object], todo: ClaimAction) -> Result:
        """Nothing is to be created; somebody may have to be told. A name that is taken may become free, and nobody
        tells us: it is tried again."""
        controller_metrics.count_reconcile(todo.outcome)
        if todo.message:
            self._recorder.warn(pod, todo.reason, todo.message)
        return Result(again=todo.outcome is ClaimResult.CLAIM_NAME_TAKEN)

    def _create(self, pod: Mapping[str, object], claim: Mapping[str, object], claim_key: str) -> Result:
        version = self._resource.version
        if version is None:
            return Result(again=True)
        namespace = str(pod.get("namespace"))
        began = time.monotonic()
        try:
            body = api_versions.convert_claim(claim, version)
            self._api.call("POST", self._resource.path("resourceclaims", namespace), body=body, accept=METADATA)
        except ApiError as failure:
            if failure.reason is ErrorReason.ALREADY_EXISTS:
                return self._compare(pod, claim_key)
            return self._failed(pod, failure)
        controller_metrics.observe_create(time.monotonic() - began)
        controller_metrics.count_reconcile(ClaimResult.CLAIM_CREATED)
        self._made.add(claim_key, str(pod.get("uid")))
        _log.info("created a claim", extra={"fields": {**about(pod), "claim": claim_name(pod)}})
        self._look_for_classes(pod, claim)
        return Result()

    def _compare(self, pod: Mapping[str, object], claim_key: str) -> Result:
        """A claim of that name is there already: ours, of before the watch showed it, or somebody else's."""
        namespace, _, name = claim_key.partition("/")
        try:
            there = self._api.call("GET", self._resource.path("resourceclaims", namespace, name), accept=METADATA)
        except ApiError as failure:
            # NotFound: it went away in between, and the next attempt creates it.
            return self._failed(pod, failure)
        claim = object_metadata.metadata(there)
        if object_metadata.owned_by(claim, pod):
            self._made.add(claim_key, str(pod.get("uid")))
            return self._stand(pod, ClaimAction(ClaimResult.CLAIM_PRESENT))
        return self._stand(pod, taken(claim, pod))

    def _failed(self, pod: Mapping[str, object], failure: ApiError) -> Result:
        controller_metrics.count_api_failure(failure.reason)
        controller_metrics.count_reconcile(failure.reason)
        fields = {**about(pod), "claim": claim_name(pod), "reason": failure.reason, "why": failure.message}
        _log.warning("no claim yet", extra={"fields": fields})
        if failure.reason is ErrorReason.NOT_FOUND:
            self._look_for_version()
        if failure.reason.reported:
            text = f"{ClaimResult.CLAIM_REFUSED.sentence}: {failure}"
            self._recorder.warn(pod, failure.reason, text)
        return Result(again=failure.reason.retried, at_least=failure.retry_after or 0.0)

    def _look_for_version(self) -> None:
        try:
            self._resource.refresh()
        except ApiError as failure:
            controller_metrics.count_api_failure(failure.reason)

    def _look_for_classes(self, pod: Mapping[str, object], claim: Mapping[str, object]) -> None:
        """The API server takes a claim for a class that does not exist, and the pod waits without a word."""
        known = self._copies.classes()
        missing = [] if known is None else missing_classes(claim, known)
        if missing:
            controller_metrics.count_reconcile(ClaimResult.DEVICE_CLASS_MISSING)
            self._recorder.warn(pod, ClaimResult.DEVICE_CLASS_MISSING, without_classes(missing))


class Expectations:
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
