"""Reconciles one pod: carries out its ClaimAction. Idempotent."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from webhook.cluster.api import METADATA, Api
from webhook.cluster.api_errors import ApiError, ErrorReason, Scope
from webhook.cluster.discovery import ResourceApi
from webhook.controller import controller_metrics, object_metadata
from webhook.controller.claim_actions import (
    ClaimAction,
    claim_name,
    decide_action,
    describe_missing_classes,
    missing_device_classes,
    report_name_conflict,
)
from webhook.controller.events import Recorder, namespace_and_name
from webhook.controller.results import ClaimResult, Result
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import api_versions
from webhook.json_tree import get_object
from webhook.observe.log_throttle import LogThrottle

EXPECTATION_SECONDS = 30.0
"""Seconds for which a created claim counts as existing before the watch reports it."""

REPEAT_SECONDS = 30.0
"""Minimum seconds between two log lines of failures in the same namespace for the same reason."""

_log = logging.getLogger("modelfit.reconciler")


class Listers(NamedTuple):
    """The informers' caches: the metadata of a pod or a claim by key, and the names of the DeviceClasses (None until
    they are listed)."""

    pod: Callable[[str], Mapping[str, object] | None]
    claim: Callable[[str], Mapping[str, object] | None]
    device_classes: Callable[[], Collection[str] | None]


class PodReconciler:
    """Creates the claims of pods. Thread-safe if each pod is reconciled by one thread at a time."""

    def __init__(
        self, api: Api, resource: ResourceApi, config: AdmissionConfig, listers: Listers, recorder: Recorder
    ) -> None:
        self._api, self._resource, self._config = api, resource, config
        self._listers, self._recorder = listers, recorder
        self._expectations = Expectations()
        self._throttle = LogThrottle(REPEAT_SECONDS)

    def reconcile(self, key: str) -> Result:
        """Reconciles the pod `namespace/name`."""
        pod = self._listers.pod(key)
        claim_key = object_metadata.key(pod, claim_name(pod)) if pod else ""
        if pod and self._expectations.contains(claim_key, str(pod.get("uid"))):
            return Result()
        claim = self._listers.claim(claim_key) if pod else None
        action = decide_action(pod, claim, self._config, self._listers.device_classes())
        if pod is None or action.claim is None:
            return self._report(pod or {}, action)
        return self._create(pod, action.claim, claim_key)

    def claim_deleted(self, claim: Mapping[str, object]) -> None:
        """The claim with this metadata was deleted: it is no longer expected."""
        self._expectations.delete(object_metadata.key(claim))

    def _report(self, pod: Mapping[str, object], action: ClaimAction) -> Result:
        """No claim to create; emits an Event if needed. Name conflicts are retried: nothing notifies this reconciler
        when a name of another owner's claim becomes free."""
        controller_metrics.count_reconcile(action.result)
        if action.message:
            self._recorder.warn(pod, action.reason, action.message)
        requeue = action.result is ClaimResult.CLAIM_NAME_TAKEN
        return Result(requeue=requeue, scope=Scope.POD, reason=action.reason) if requeue else Result()

    def _create(self, pod: Mapping[str, object], claim: Mapping[str, object], claim_key: str) -> Result:
        version = self._resource.version
        if version is None:
            return Result(requeue=True)
        namespace = str(pod.get("namespace"))
        started = time.monotonic()
        try:
            body = api_versions.convert_claim(claim, version)
            self._api.call("POST", self._resource.path("resourceclaims", namespace), body=body, accept=METADATA)
        except ApiError as error:
            if error.reason is ErrorReason.ALREADY_EXISTS:
                return self._compare_existing(pod, claim_key)
            return self._fail(pod, error)
        controller_metrics.observe_create(time.monotonic() - started)
        controller_metrics.count_reconcile(ClaimResult.CLAIM_CREATED)
        self._expectations.add(claim_key, str(pod.get("uid")))
        _log.info("created ResourceClaim", extra={"fields": {**namespace_and_name(pod), "claim": claim_name(pod)}})
        self._report_missing_classes(pod, claim)
        return Result(created=True)

    def _compare_existing(self, pod: Mapping[str, object], claim_key: str) -> Result:
        """A claim of that name exists: either this pod's, which the watch has not reported yet, or another owner's."""
        namespace, _, name = claim_key.partition("/")
        try:
            existing = self._api.call("GET", self._resource.path("resourceclaims", namespace, name), accept=METADATA)
        except ApiError as error:
            # NotFound: the claim was deleted in between, and the next attempt creates it.
            return self._fail(pod, error)
        claim = get_object(existing, "metadata")
        if object_metadata.is_owned_by(claim, pod):
            self._expectations.add(claim_key, str(pod.get("uid")))
            return self._report(pod, ClaimAction(ClaimResult.CLAIM_PRESENT))
        return self._report(pod, report_name_conflict(claim, pod))

    def _fail(self, pod: Mapping[str, object], error: ApiError) -> Result:
        controller_metrics.count_api_failure(error.reason)
        controller_metrics.count_reconcile(error.reason)
        count = self._throttle.allow((str(pod.get("namespace")), error.reason))
        if count:
            identity = {**namespace_and_name(pod), "claim": claim_name(pod)}
            fields = {**identity, "reason": error.reason, "error": error.message, "count": count}
            _log.warning("failed to create ResourceClaim", extra={"fields": fields})
        if error.reason is ErrorReason.NOT_FOUND:
            self._refresh_version()
        if error.reason.reported:
            self._recorder.warn(pod, error.reason, f"the API server does not accept the pod's ResourceClaim: {error}")
        return Result(
            requeue=True, requeue_after=error.retry_after or 0.0, scope=error.scope, reason=error.reason.value
        )

    def _refresh_version(self) -> None:
        try:
            self._resource.refresh()
        except ApiError as error:
            controller_metrics.count_api_failure(error.reason)

    def _report_missing_classes(self, pod: Mapping[str, object], claim: Mapping[str, object]) -> None:
        """The API server accepts a claim for a class that does not exist, and the pod stays pending without a
        reason."""
        existing = self._listers.device_classes()
        missing = [] if existing is None else missing_device_classes(claim, existing)
        if missing:
            controller_metrics.count_reconcile(ClaimResult.DEVICE_CLASS_MISSING)
            self._recorder.warn(pod, ClaimResult.DEVICE_CLASS_MISSING, describe_missing_classes(missing))


class Expectations:
    """Claims that were created recently, each with the uid of its pod."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._created: dict[str, tuple[str, float]] = {}
        """Claim key to pod uid and time, in order of creation."""

    def add(self, claim: str, uid: str) -> None:
        with self._lock:
            self._created.pop(claim, None)
            self._created[claim] = (uid, self._clock())
            while self._clock() - next(iter(self._created.values()))[1] > EXPECTATION_SECONDS:
                del self._created[next(iter(self._created))]

    def contains(self, claim: str, uid: str) -> bool:
        with self._lock:
            owner, at = self._created.get(claim, ("", 0.0))
            return owner == uid and self._clock() - at <= EXPECTATION_SECONDS

    def delete(self, claim: str) -> None:
        with self._lock:
            self._created.pop(claim, None)
