"""The namespaces whose pods are injected: the webhook's rule, for the controller, which can be reached around it."""

import threading
import time
from collections.abc import Callable

from webhook import constants
from webhook.cluster.api import Api, path
from webhook.controller import object_metadata
from webhook.core.admission.exemptions import InjectedNamespaces
from webhook.json_tree import get_object

CACHE_SECONDS = 10.0
"""Seconds for which a list of the labelled namespaces is used."""


class InjectedNamespacesLister:
    """The namespaces that the settings name, without those labelled `llmfit.ai/inject: disabled`. Thread-safe.

    The permission to list namespaces is enough: they are listed with the label selector, metadata only, at most once in
    CACHE_SECONDS, and only while there are pods to reconcile.
    """

    def __init__(self, api: Api, configured: InjectedNamespaces, clock: Callable[[], float] = time.monotonic) -> None:
        self._api, self._configured, self._clock = api, configured, clock
        self._lock = threading.Lock()
        self._current = configured
        self._expires: float | None = None

    def get(self) -> InjectedNamespaces:
        """Raises ApiError if the namespaces cannot be listed; without the list no claim may be created."""
        with self._lock:
            if self._expires is None or self._clock() >= self._expires:
                excluded = frozenset(self._configured.excluded) | self._list_disabled()
                self._current = InjectedNamespaces(excluded, self._configured.included)
                self._expires = self._clock() + CACHE_SECONDS
            return self._current

    def _list_disabled(self) -> frozenset[str]:
        selectors = {"labelSelector": f"{constants.INJECT}={constants.INJECT_DISABLED}"}
        namespaces, _ = self._api.list_objects(path("v1", "namespaces"), selectors, object_metadata.strip)
        return frozenset(str(get_object(namespace, "metadata").get("name")) for namespace in namespaces)
