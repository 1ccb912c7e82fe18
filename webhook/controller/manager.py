"""The controller as a whole: its copies, its workers, and the loops that keep them going."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from webhook import constants
from webhook.cluster.api import Api, JsonObject, path
from webhook.cluster.api_errors import ApiError
from webhook.cluster.discovery import ResourceApi
from webhook.cluster.informer import Informer
from webhook.cluster.leader_election import LeaderElector, LeaseLock, NoLeaderElection
from webhook.controller import controller_metrics, object_metadata
from webhook.controller.certificate_reconciler import CertificateReconciler
from webhook.controller.events import Recorder
from webhook.controller.pod_reconciler import Listers, PodReconciler
from webhook.controller.uninjected_pods import UNFINISHED, UninjectedPodScanner
from webhook.controller.work_queue import WorkQueue
from webhook.core.admission_config import AdmissionConfig

DISCOVERY_SECONDS = 60.0
"""Seconds between looks at which API versions are served. An API server that is upgraded ends its watches: then the
look is made at once, and again every second until it is answered."""
STOP_SECONDS = 1.0
"""Seconds that workers get to finish the call they are in."""

_log = logging.getLogger("modelfit.controller")


@dataclass(frozen=True)
class Options:
    """How the controller runs."""

    identity: str
    namespace: str
    """Our own, and the Lease's."""
    lease: str
    """Name of the Lease."""
    workers: int
    leader_election: bool
    uninjected_scan_seconds: float
    """Between looks for annotated pods that were not injected."""
    left_alone: frozenset[str]
    """Namespaces that the webhook does not look at, beside our own and those that are labelled."""


class Controller:
    """Runs from `start` to `stop`. `unhealthy` and `unready` say what is wrong, for the probes."""

    def __init__(
        self, api: Api, config: AdmissionConfig, options: Options, certificates: CertificateReconciler | None = None
    ) -> None:
        """`certificates` where we own the webhook's."""
        self._api, self._options, self._certificates = api, options, certificates
        self._stop = threading.Event()
        self._look_again = threading.Event()
        self._queue = WorkQueue()
        self._resource = ResourceApi(api)
        self._recorder = Recorder(api, options.identity)
        self._audit = UninjectedPodScanner(api, config, self._recorder, options.left_alone | {options.namespace})
        self._pods = self._informer(
            lambda: path("v1", "pods"),
            changed=self._pod_changed,
            selectors={
                "labelSelector": f"{constants.INJECTED}={constants.INJECTED_TRUE}",
                # A pod that is finished leaves this selection: the watch reports it as gone.
                "fieldSelector": UNFINISHED,
            },
        )
        self._claims = self._informer(
            lambda: self._resource.path("resourceclaims"),
            gone=self._claim_gone,
            selectors={"labelSelector": f"{constants.MANAGED_BY}={constants.MANAGED_BY_US}"},
        )
        self._classes = self._informer(lambda: self._resource.path("deviceclasses"))
        copies = Listers(
            lambda key: _metadata(self._pods.get(key)), lambda key: _metadata(self._claims.get(key)), self._class_names
        )
        self._keeper = PodReconciler(api, self._resource, config, copies, self._recorder)
        self._leadership: LeaderElector | NoLeaderElection = NoLeaderElection()
        if options.leader_election:
            lock = LeaseLock(api, options.namespace, options.lease, options.identity)
            self._leadership = LeaderElector(lock, self._stop, self._leadership_changed)
        loops = [("discovery", self._discover), ("audit", self._audit_now_and_then)]
        if certificates is not None:
            owned = certificates
            loops.append(("certificates", lambda: owned.run(self._stop, lambda: self._leadership.leading)))
        loops += [(f"worker {number}", self._work) for number in range(options.workers)]
        self._threads = [threading.Thread(target=loop, name=name, daemon=True) for name, loop in loops]
        controller_metrics.set_gauge_sources(
            lambda: self._leadership.leading,
            lambda: self._queue.depth,
            lambda: self._queue.age,
            lambda: self._queue.retrying,
            # Who does not lead any more does not learn that they are gone.
            lambda: self._audit.found if self._leadership.leading else 0,
        )

    def start(self) -> None:
        for informer in self._informers:
            informer.start()
        if isinstance(self._leadership, LeaderElector):
            self._leadership.start()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stops acting at once, hands the lease over, and ends what it can within two seconds; what then hangs in a
        call to an API server that does not answer ends with the process."""
        self._stop.set()
        self._look_again.set()
        self._enqueue_certificates()
        self._queue.close()
        deadline = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        enders = [informer.stop for informer in self._informers]
        if isinstance(self._leadership, LeaderElector):
            enders.append(self._leadership.release)
        _all_at_once(enders, STOP_SECONDS)

    def unhealthy(self) -> str:
        """A thread that died: only a restart helps."""
        threads = [thread.name for thread in self._threads if not thread.is_alive()]
        threads += ["informer" for informer in self._informers if not informer.alive]
        if isinstance(self._leadership, LeaderElector) and not self._leadership.alive:
            threads.append("leader election")
        return f"not running any more: {', '.join(threads)}" if threads else ""

    def unready(self) -> str:
        """What keeps it from creating claims, were it the leader; else what is wrong with the webhook's certificate,
        where that is ours."""
        return self._blind() or (self._certificates.problem() if self._certificates else "")

    def remark(self) -> str:
        """What somebody should know of though it is ready."""
        return self._certificates.note() if self._certificates else ""

    def _blind(self) -> str:
        """What it does not see of what it needs to see for creating claims."""
        copies = {"pods": self._pods, "resourceclaims": self._claims, "deviceclasses": self._classes}
        missing = [name for name, informer in copies.items() if not informer.synced.is_set()]
        return self._resource.problem or (f"not listed yet: {', '.join(missing)}" if missing else "")

    @property
    def _informers(self) -> tuple[Informer, ...]:
        return self._pods, self._claims, self._classes

    def _informer(
        self,
        where: Callable[[], str],
        *,
        changed: Callable[[JsonObject], None] = lambda obj: None,
        gone: Callable[[JsonObject], None] = lambda obj: None,
        selectors: Mapping[str, str] | None = None,
    ) -> Informer:
        return Informer(
            self._api,
            where,
            stop=self._stop,
            trim=object_metadata.strip,
            changed=changed,
            gone=gone,
            failed=self._call_failed,
            selectors=selectors,
        )

    def _pod_changed(self, pod: JsonObject) -> None:
        # Who does not lead keeps no queue: leading begins with a look at every pod.
        if self._leadership.leading:
            self._queue.add(object_metadata.key(object_metadata.metadata(pod)))

    def _claim_gone(self, claim: JsonObject) -> None:
        meta = object_metadata.metadata(claim)
        self._keeper.forget(meta)
        pod = object_metadata.owner(meta)
        if pod is not None and self._leadership.leading:
            self._queue.add(object_metadata.key(meta, pod.get("name")))

    def _leadership_changed(self, leading: bool) -> None:
        _log.info("leading" if leading else "no longer leading", extra={"fields": {"identity": self._options.identity}})
        self._queue.clear()
        self._enqueue_certificates()
        if leading:
            self._queue.add_all(self._pods.keys())

    def _enqueue_certificates(self) -> None:
        if self._certificates is not None:
            self._certificates.enqueue()

    def _call_failed(self, failure: ApiError) -> None:
        controller_metrics.count_api_failure(failure.reason)
        self._look_again.set()
        if not self._stop.is_set():
            _log.warning("a watch ended", extra={"fields": {"reason": failure.reason, "why": failure.message}})

    def _class_names(self) -> list[str] | None:
        return self._classes.keys() if self._classes.synced.is_set() else None

    def _work(self) -> None:
        while not self._stop.is_set():
            if self._blind() or not self._leadership.leading:
                self._stop.wait(0.1)
                continue
            key = self._queue.get(timeout=0.5)
            if key is not None:
                self._see_to(key)

    def _see_to(self, key: str) -> None:
        try:
            # A key may have waited in `get` while the lease was lost; whoever has it now looks at every pod.
            if not self._leadership.leading:
                return
            verdict = self._keeper.see_to(key)
            if verdict.again:
                self._queue.retry(key, verdict.at_least)
            else:
                self._queue.forget(key)
        except Exception:
            _log.exception("could not see to a pod", extra={"fields": {"pod": key}})
            self._queue.retry(key)
        finally:
            self._queue.done(key)

    def _discover(self) -> None:
        """Keeps the version up to date."""
        while not self._stop.is_set():
            self._look_again.clear()
            self._look_again.wait(DISCOVERY_SECONDS if self._look_for_version() else 1.0)
            # However many watches end at once, and however often.
            self._stop.wait(0.1)

    def _look_for_version(self) -> bool:
        """Whether there is one, by the API server's own word."""
        try:
            changed = self._resource.refresh()
        except ApiError as failure:
            controller_metrics.count_api_failure(failure.reason)
            _log.warning("could not look for API versions", extra={"fields": {"why": str(failure)}})
            return False
        if changed:
            fields = {"version": self._resource.version, "problem": self._resource.problem}
            _log.info("the version of resource.k8s.io to speak", extra={"fields": fields})
        return self._resource.version is not None

    def _audit_now_and_then(self) -> None:
        while not self._stop.is_set():
            if self._blind() or not self._leadership.leading:
                self._stop.wait(0.5)
                continue
            try:
                self._audit.look()
            except Exception:
                _log.exception("could not look for pods without injection")
            self._stop.wait(self._options.uninjected_scan_seconds)


def _metadata(obj: JsonObject | None) -> Mapping[str, object] | None:
    return None if obj is None else object_metadata.metadata(obj)


def _all_at_once(calls: list[Callable[[], None]], seconds: float) -> None:
    """Runs them side by side and waits for at most so long."""
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
