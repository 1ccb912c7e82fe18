"""Runs the controller: informers, workers, leader election and the other loops."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from webhook import constants
from webhook.cluster.api import Api, path
from webhook.cluster.api_errors import ApiError, ErrorReason, Scope
from webhook.cluster.discovery import ResourceApi
from webhook.cluster.informer import Informer
from webhook.cluster.leader_election import LeaderElector, LeaseLock, NoLeaderElection
from webhook.controller import controller_metrics, object_metadata, pod_warnings, stripped_pods
from webhook.controller.certificate_reconciler import CertificateReconciler
from webhook.controller.events import Recorder
from webhook.controller.injected_namespaces import InjectedNamespacesLister
from webhook.controller.pod_reconciler import Listers, PodReconciler
from webhook.controller.results import Result
from webhook.controller.uninjected_pods import UNFINISHED, UninjectedPodScanner
from webhook.controller.version_discovery import VersionDiscovery
from webhook.controller.work_queue import WorkQueue
from webhook.core.admission.exemptions import InjectedNamespaces
from webhook.core.admission_config import AdmissionConfig
from webhook.json_tree import JsonObject, get_object
from webhook.observe.log_throttle import LogThrottle

STOP_SECONDS = 1.0
"""Seconds that the workers have at the end to finish their calls."""

_log = logging.getLogger("modelfit.controller")


@dataclass(frozen=True)
class Options:
    """How the controller runs."""

    identity: str
    namespace: str
    """The namespace of the controller and of the Lease."""
    lease: str
    """Name of the Lease."""
    workers: int
    leader_election: bool
    uninjected_scan_seconds: float
    """Seconds between scans for annotated pods that were not injected."""
    excluded_namespaces: frozenset[str] = frozenset()
    """Namespaces that the webhook exempts, in addition to our own and labelled ones."""
    included_namespaces: frozenset[str] = frozenset()
    """Namespaces that the webhook does not exempt; empty: all others."""


class Controller:
    """Runs from `start` to `stop`. `liveness_error`, `readiness_error` and `note` are for the probes."""

    def __init__(
        self, api: Api, config: AdmissionConfig, options: Options, certificates: CertificateReconciler | None = None
    ) -> None:
        """`certificates` is None unless the controller maintains the webhook's certificate."""
        self._api, self._options, self._certificates = api, options, certificates
        self._stop = threading.Event()
        self._queue = WorkQueue(options.workers)
        self._throttle = LogThrottle()
        self._resource = ResourceApi(api)
        self._discovery = VersionDiscovery(self._resource)
        recorder = Recorder(api, options.identity)
        excluded_namespaces = options.excluded_namespaces | {options.namespace}
        configured_namespaces = InjectedNamespaces(excluded_namespaces, options.included_namespaces)
        namespaces = InjectedNamespacesLister(api, configured_namespaces).get
        self._pods = self._informer(
            lambda: path("v1", "pods"),
            changed=self._pod_changed,
            gone=self._pod_deleted,
            selectors={
                "labelSelector": f"{constants.INJECTED}={constants.INJECTED_TRUE}",
                # When a pod finishes, the watch reports it as deleted.
                "fieldSelector": UNFINISHED,
            },
            strip=stripped_pods.stripper(config),
            # The claim's name is read from spec.resourceClaims, because annotations can be forged.
            metadata_only=False,
        )
        self._claims = self._informer(
            lambda: self._resource.path("resourceclaims"),
            gone=self._claim_deleted,
            selectors={"labelSelector": f"{constants.MANAGED_BY}={constants.MANAGED_BY_US}"},
        )
        self._classes = self._informer(
            lambda: self._resource.path("deviceclasses"), strip=pod_warnings.strip_class, metadata_only=False
        )
        self._informers = {"pods": self._pods, "resourceclaims": self._claims, "deviceclasses": self._classes}
        listers = Listers(
            self._pods.get, lambda key: _metadata(self._claims.get(key)), self._existing_classes, namespaces
        )
        self._scanner = UninjectedPodScanner(api, config, recorder, listers)
        self._reconciler = PodReconciler(api, self._resource, config, listers, recorder)
        self._elector: LeaderElector | NoLeaderElection = NoLeaderElection()
        if options.leader_election:
            lock = LeaseLock(api, options.namespace, options.lease, options.identity)
            self._elector = LeaderElector(lock, self._stop, self._leadership_changed, self._election_failed)
        loops = [("discovery", lambda: self._discovery.run(self._stop)), ("uninjected pod scanner", self._scan)]
        if certificates is not None:
            loops.append(("certificates", lambda: certificates.run(self._stop, lambda: self._elector.is_leader)))
        loops += [(f"worker {number}", self._work) for number in range(options.workers)]
        self._threads = [threading.Thread(target=loop, name=name, daemon=True) for name, loop in loops]
        controller_metrics.set_gauge_sources(
            lambda: self._elector.is_leader,
            lambda: self._queue.depth,
            lambda: self._queue.oldest_seconds,
            lambda: self._queue.retrying,
            # A replica that lost leadership would report its last scan indefinitely.
            lambda: self._scanner.found if self._elector.is_leader else 0,
            lambda: self._queue.namespaces_backing_off,
        )

    def start(self) -> None:
        for informer in self._informers.values():
            informer.start()
        self._elector.start()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stops writing at once, releases the lease, and ends all threads that it can within two seconds. A thread in a
        call to an API server that does not respond ends with the process."""
        self._stop.set()
        self._discovery.wake()
        self._wake_certificates()
        self._queue.close()
        deadline = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        _run_in_parallel([*(informer.stop for informer in self._informers.values()), self._elector.release])

    def liveness_error(self) -> str:
        """The threads that died, which only a restart repairs; empty if there are none."""
        dead = [thread.name for thread in self._threads if not thread.is_alive()]
        dead += [f"informer of {name}" for name, informer in self._informers.items() if not informer.alive]
        if not self._elector.alive:
            dead.append("leader election")
        return f"threads that died: {', '.join(dead)}" if dead else ""

    def readiness_error(self) -> str:
        """Why this replica could not create claims as leader; else the problem of the webhook's certificate, if the
        controller maintains it; empty if there is neither."""
        return self._unsynced() or (self._certificates.problem() if self._certificates else "")

    def note(self) -> str:
        """What an operator should know although the controller is ready."""
        return self._certificates.note() if self._certificates else ""

    def _unsynced(self) -> str:
        """What is missing before claims can be created: the API version, or caches; empty if nothing is."""
        missing = [name for name, informer in self._informers.items() if not informer.synced.is_set()]
        return self._resource.problem or (f"not listed yet: {', '.join(missing)}" if missing else "")

    def _informer(
        self,
        url_path: Callable[[], str],
        *,
        changed: Callable[[JsonObject], None] = lambda obj: None,
        gone: Callable[[JsonObject], None] = lambda obj: None,
        selectors: Mapping[str, str] | None = None,
        strip: Callable[[JsonObject], None] = object_metadata.strip,
        metadata_only: bool = True,
    ) -> Informer:
        return Informer(
            self._api,
            url_path,
            stop=self._stop,
            strip=strip,
            changed=changed,
            gone=gone,
            failed=self._watch_closed,
            selectors=selectors,
            metadata_only=metadata_only,
        )

    def _pod_changed(self, pod: JsonObject) -> None:
        # Only the leader has a queue: a new leader enqueues every pod.
        if self._elector.is_leader:
            self._queue.add(object_metadata.key(get_object(pod, "metadata")))

    def _pod_deleted(self, pod: JsonObject) -> None:
        self._queue.discard(object_metadata.key(get_object(pod, "metadata")))

    def _claim_deleted(self, claim: JsonObject) -> None:
        metadata = get_object(claim, "metadata")
        self._reconciler.claim_deleted(metadata)
        pod = object_metadata.owning_pod(metadata)
        if self._elector.is_leader:
            self._queue.end_backoff(str(metadata.get("namespace")), ErrorReason.QUOTA_EXCEEDED)
            if pod is not None:
                self._queue.wake(object_metadata.key(metadata, pod.get("name")))

    def _leadership_changed(self, is_leader: bool) -> None:
        message = "became leader" if is_leader else "lost leadership"
        _log.info(message, extra={"fields": {"identity": self._options.identity}})
        self._queue.clear()
        self._wake_certificates()
        if is_leader:
            self._queue.add_all(self._pods.keys())

    def _election_failed(self, error: ApiError) -> None:
        controller_metrics.count_api_failure(error.reason)
        count = self._throttle.allow(("election", error.reason))
        if count:
            fields = {"reason": error.reason, "error": error.message, "count": count}
            _log.warning("leader election failed, retrying", extra={"fields": fields})

    def _wake_certificates(self) -> None:
        if self._certificates is not None:
            self._certificates.wake()

    def _watch_closed(self, error: ApiError) -> None:
        controller_metrics.count_api_failure(error.reason)
        self._discovery.wake()
        if not self._stop.is_set():
            _log.warning("watch closed", extra={"fields": {"reason": error.reason, "error": error.message}})

    def _existing_classes(self) -> dict[str, JsonObject] | None:
        if not self._classes.synced.is_set():
            return None
        names = self._classes.keys()
        return {name: found for name in names if (found := self._classes.get(name)) is not None}

    def _work(self) -> None:
        while not self._stop.is_set():
            if self._unsynced() or not self._elector.is_leader:
                self._stop.wait(0.1)
                continue
            key = self._queue.get(timeout=0.5)
            if key is not None:
                self._reconcile(key)

    def _reconcile(self, key: str) -> None:
        result = Result()
        try:
            # Leadership may have been lost while `get` waited; the new leader reconciles every pod.
            if self._elector.is_leader:
                result = self._reconciler.reconcile(key)
        except Exception:
            # A bug that one pod triggers: the others are not held up, and the log is not filled.
            result = Result(requeue=True, scope=Scope.POD)
            count = self._throttle.allow(key.partition("/")[0])
            if count:
                _log.exception("pod reconcile failed", extra={"fields": {"pod": key, "count": count}})
        finally:
            self._queue.done(key, result)

    def _scan(self) -> None:
        while not self._stop.is_set():
            if self._unsynced() or not self._elector.is_leader:
                self._stop.wait(0.5)
                continue
            try:
                self._scanner.scan()
            except Exception:
                controller_metrics.count_api_failure(ErrorReason.UNEXPECTED)
                _log.exception("scan for uninjected pods failed")
            self._stop.wait(self._options.uninjected_scan_seconds)


def _metadata(obj: JsonObject | None) -> Mapping[str, object] | None:
    return None if obj is None else get_object(obj, "metadata")


def _run_in_parallel(calls: list[Callable[[], None]]) -> None:
    """Waits for them for at most STOP_SECONDS."""
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + STOP_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
