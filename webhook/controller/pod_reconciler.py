"""Reconciles one pod: carries out its ClaimAction. Idempotent."""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from webhook.cluster.api import METADATA, Api
from webhook.cluster.api_errors import ApiError, ErrorReason, Scope
from webhook.cluster.discovery import ResourceApi
from webhook.controller import controller_metrics, object_metadata, pod_warnings, stripped_pods
from webhook.controller.claim_actions import ClaimAction, action_for_name_conflict, decide_action
from webhook.controller.events import Recorder, namespace_and_name
from webhook.controller.results import ClaimResult, Result
from webhook.core.admission.exemptions import InjectedNamespaces
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import api_versions
from webhook.core.claims.device_request import DeviceRequest
from webhook.core.claims.pod_claim import find_claim_name
from webhook.json_tree import get_object
from webhook.observe.log_throttle import LogThrottle

EXPECTATION_SECONDS = 30.0
"""Seconds for which a created claim counts as existing before the watch reports it."""

_log = logging.getLogger("modelfit.reconciler")


class Listers(NamedTuple):
    """The informers' caches: a stripped pod and the metadata of a claim by key, and the DeviceClasses by name (None
    until they are listed); and the namespaces whose pods are injected (raises ApiError)."""

    pod: Callable[[str], Mapping[str, object] | None]
    claim: Callable[[str], Mapping[str, object] | None]
    device_classes: Callable[[], Mapping[str, Mapping[str, object]] | None]
    injected_namespaces: Callable[[], InjectedNamespaces]


class PodReconciler:
    """Creates the claims of pods. Thread-safe if each pod is reconciled by one thread at a time."""

    def __init__(
        self, api: Api, resource: ResourceApi, config: AdmissionConfig, listers: Listers, recorder: Recorder
    ) -> None:
        self._api, self._resource, self._config = api, resource, config
        self._listers, self._recorder = listers, recorder
        self._expectations = Expectations()
        self._throttle = LogThrottle()

    def reconcile(self, key: str) -> Result:
        """Reconciles the pod `namespace/name`."""
        pod = self._listers.pod(key)
        if pod is None:
            return self._report({}, ClaimAction(ClaimResult.NOTHING_TO_DO))
        claim_key = _claim_key(pod)
        if self._expectations.contains(claim_key, _uid(pod)):
            return Result()
        try:
            namespaces = self._listers.injected_namespaces()
        except ApiError as error:
            return self._fail(pod, error)
        claim = self._listers.claim(claim_key)
        action = decide_action(pod, claim, self._config, namespaces, self._listers.device_classes())
        if action.claim is None:
            return self._report(pod, action)
        return self._create(pod, action.claim, claim_key)

    def claim_deleted(self, claim: Mapping[str, object]) -> None:
        """The claim with this metadata was deleted: it is no longer expected."""
        self._expectations.delete(object_metadata.key(claim))

    def _report(self, pod: Mapping[str, object], action: ClaimAction) -> Result:
        """No claim to create; emits an Event if needed. Name conflicts are retried: nothing notifies this reconciler
        when a name of another owner's claim becomes free."""
        controller_metrics.count_reconcile(action.result)
        if action.message:
            self._recorder.warn(get_object(pod, "metadata"), action.reason, action.message)
        requeue = action.result is ClaimResult.CLAIM_NAME_TAKEN
        return Result(requeue=requeue, scope=Scope.POD, reason=action.reason) if requeue else Result()

    def _create(self, pod: Mapping[str, object], claim: Mapping[str, object], claim_key: str) -> Result:
        version = self._resource.version
        if version is None:
            return Result(requeue=True)
        namespace, _, name = claim_key.partition("/")
        started = time.monotonic()
        try:
            body = api_versions.convert_claim(claim, version)
            self._api.call("POST", self._resource.path("resourceclaims", namespace), body=body, accept=METADATA)
        except ApiError as error:
            if error.reason is ErrorReason.ALREADY_EXISTS:
                return self._compare_existing(pod, claim_key, started)
            return self._fail(pod, error)
        controller_metrics.observe_create(time.monotonic() - started)
        controller_metrics.count_reconcile(ClaimResult.CLAIM_CREATED)
        self._expectations.add(claim_key, _uid(pod), started)
        fields = {**namespace_and_name(get_object(pod, "metadata")), "claim": name}
        _log.info("created ResourceClaim", extra={"fields": fields})
        self._warn(pod, claim)
        return Result(created=True)

    def _compare_existing(self, pod: Mapping[str, object], claim_key: str, started: float) -> Result:
        """Reads the existing claim of that name: it is this pod's, and the watch has not reported it yet, or another
        owner's."""
        namespace, _, name = claim_key.partition("/")
        try:
            existing = self._api.call("GET", self._resource.path("resourceclaims", namespace, name), accept=METADATA)
        except ApiError as error:
            # NotFound: the claim was deleted in between, and the next attempt creates it.
            return self._fail(pod, error)
        claim = get_object(existing, "metadata")
        if object_metadata.is_owned_by(claim, get_object(pod, "metadata")):
            self._expectations.add(claim_key, _uid(pod), started)
            return self._report(pod, ClaimAction(ClaimResult.CLAIM_PRESENT))
        return self._report(pod, action_for_name_conflict(claim, pod))

    def _fail(self, pod: Mapping[str, object], error: ApiError) -> Result:
        controller_metrics.count_api_failure(error.reason)
        controller_metrics.count_reconcile(error.reason)
        metadata = get_object(pod, "metadata")
        count = self._throttle.allow((str(metadata.get("namespace")), error.reason))
        if count:
            identity = {**namespace_and_name(metadata), "claim": find_claim_name(pod)}
            fields = {**identity, "reason": error.reason, "error": error.message, "count": count}
            _log.warning("failed to create ResourceClaim", extra={"fields": fields})
        if error.reason is ErrorReason.NOT_FOUND:
            self._refresh_version()
        if error.reason.reported:
            self._recorder.warn(
                metadata, error.reason, f"the API server does not accept the pod's ResourceClaim: {error}"
            )
        return Result(
            # A namespace that is being deleted never accepts an object again.
            requeue=error.reason is not ErrorReason.NAMESPACE_TERMINATING,
            requeue_after=error.retry_after or 0.0,
            scope=error.scope,
            reason=error.reason.value,
        )

    def _refresh_version(self) -> None:
        try:
            self._resource.refresh()
        except ApiError as error:
            controller_metrics.count_api_failure(error.reason)

    def _warn(self, pod: Mapping[str, object], claim: Mapping[str, object]) -> None:
        """Emits Events about the problems of a pod, once: when its claim has been created."""
        request = stripped_pods.device_request(pod, self._config)
        if not isinstance(request, DeviceRequest):
            return
        messages = {}
        classes = self._listers.device_classes()
        if classes is not None:
            messages[ClaimResult.DEVICE_CLASS_MISSING] = pod_warnings.missing_classes(claim, classes)
            duplicates = pod_warnings.duplicate_devices(pod, claim, request, classes)
            messages[ClaimResult.DUPLICATE_DEVICE_REQUEST] = duplicates
        if self._config.memory_requests != "ignore":
            messages[ClaimResult.MEMORY_LIMIT_TOO_LOW] = pod_warnings.memory_limit(pod, request)
        for result, message in messages.items():
            if message:
                controller_metrics.count_reconcile(result)
                self._recorder.warn(get_object(pod, "metadata"), result, message)


def _claim_key(pod: Mapping[str, object]) -> str:
    return object_metadata.key(get_object(pod, "metadata"), find_claim_name(pod))


def _uid(pod: Mapping[str, object]) -> str:
    return str(get_object(pod, "metadata").get("uid"))


class Expectations:
    """Claims that were created recently, each with the uid of its pod."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._created: dict[str, tuple[str, float]] = {}
        """Claim key to pod uid and time, in order of creation."""
        self._deleted: dict[str, float] = {}
        """Claim key to time of its deletion, in order. The watch may report it before the call that created the claim
        returns."""

    def add(self, claim: str, uid: str, since: float) -> None:
        """The claim exists, unless it was deleted after `since`, when the call began."""
        with self._lock:
            if self._deleted.get(claim, -math.inf) >= since:
                return
            self._created.pop(claim, None)
            self._created[claim] = (uid, self._clock())
            while self._is_old(next(iter(self._created.values()))[1]):
                del self._created[next(iter(self._created))]

    def contains(self, claim: str, uid: str) -> bool:
        with self._lock:
            owner, at = self._created.get(claim, ("", 0.0))
            return owner == uid and not self._is_old(at)

    def delete(self, claim: str) -> None:
        with self._lock:
            self._created.pop(claim, None)
            self._deleted.pop(claim, None)
            self._deleted[claim] = self._clock()
            while self._is_old(next(iter(self._deleted.values()))):
                del self._deleted[next(iter(self._deleted))]

    def _is_old(self, at: float) -> bool:
        return self._clock() - at > EXPECTATION_SECONDS
