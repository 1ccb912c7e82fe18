"""Keeps the version of resource.k8s.io up to date."""

import logging
import threading

from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.discovery import ResourceApi
from webhook.controller import controller_metrics

DISCOVERY_SECONDS = 60.0
"""Seconds between API discoveries. A closed watch starts one at once, because an upgraded API server closes its
watches; a failed discovery is repeated every second."""

_log = logging.getLogger("modelfit.controller")


class VersionDiscovery:
    """`run` repeats the discovery until it is stopped; other threads call `wake`."""

    def __init__(self, resource: ResourceApi) -> None:
        self._resource = resource
        self._wake = threading.Event()

    def run(self, stop: threading.Event) -> None:
        """Returns when `stop` is set and `wake` called."""
        while not stop.is_set():
            self._wake.clear()
            self._wake.wait(DISCOVERY_SECONDS if self._refresh() else 1.0)
            # Watches that are closed together, or often, cause few discoveries.
            stop.wait(0.1)

    def wake(self) -> None:
        """Makes the next discovery start at once."""
        self._wake.set()

    def _refresh(self) -> bool:
        """Whether the API server answered, and serves a version that modelfit supports."""
        try:
            changed = self._resource.refresh()
        except ApiError as error:
            controller_metrics.count_api_failure(error.reason)
            _log.warning("API discovery failed", extra={"fields": {"error": str(error)}})
            return False
        except Exception:
            controller_metrics.count_api_failure(ErrorReason.UNEXPECTED)
            _log.exception("API discovery failed")
            return False
        if changed:
            fields = {"version": self._resource.version, "problem": self._resource.problem}
            _log.info("resource.k8s.io version changed", extra={"fields": fields})
        return self._resource.version is not None
