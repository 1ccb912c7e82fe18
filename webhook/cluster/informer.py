"""A local copy of the metadata of all objects of one kind, kept up to date by a watch.

The client's SharedInformer does the listing, watching and caching. Closed here, from outside, in the function that it
lists and watches with: a watch has a read timeout, so that a connection which silently died is noticed; a watch that
fails is opened again after a growing pause instead of at once and for ever; lists are read in pages, and retried with
back-off; resource versions of objects without a model are followed; what is not needed of an object is dropped on
arrival; and the log has one line for a failure, not a stack.
"""
# mypy: disable-error-code="no-untyped-call"
# The client announces types and leaves many out.

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kubernetes.client.exceptions import ApiException
from kubernetes.informer import ADDED, DELETED, ERROR, MODIFIED, SharedInformer
from kubernetes.utils import Backoff, on_retry_after_error

from webhook.cluster import api_errors
from webhook.cluster.api import METADATA, Api, JsonObject
from webhook.cluster.api_errors import ApiError, ErrorReason

WATCH_SECONDS = 30
"""Seconds after which the API server ends a watch, having said (in a bookmark) how far it got."""
SILENCE_SECONDS = 40.0
"""Seconds without a byte after which a watch is given up: longer than the API server lets any watch last."""
RESYNC_SECONDS = 600
"""Seconds between full lists, after which everything is looked at once more."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0
_QUICK_SECONDS = 5.0
_LIST_BACKOFF = Backoff(steps=7, duration=_FIRST_PAUSE, factor=2.0, jitter=0.5)

_log = logging.getLogger("modelfit.informer")
# It prints a stack for everything that a network does. What is to be known goes to `failed`.
logging.getLogger("kubernetes.informer.informer").setLevel(logging.CRITICAL)


class _About(NamedTuple):
    resource_version: str


class _Listing(NamedTuple):
    """A list in the shape in which SharedInformer reads it."""

    items: list[JsonObject]
    metadata: _About


class Informer:
    """The objects at `path()` (looked up anew at each call: an API version may change) that the selectors choose.

    `trim(object)` removes in place what is not needed; others may read the object meanwhile. `changed(object)` and
    `gone(object)` run in the informer's thread after its copy is up to date; `failed(failure)` when a call failed.
    """

    def __init__(
        self,
        api: Api,
        path: Callable[[], str],
        *,
        stop: threading.Event,
        trim: Callable[[JsonObject], None],
        changed: Callable[[JsonObject], None],
        gone: Callable[[JsonObject], None],
        failed: Callable[[ApiError], None],
        selectors: Mapping[str, str] | None = None,
    ) -> None:
        self._api, self._path, self._stop, self._trim = api, path, stop, trim
        self._selectors = dict(selectors or {})
        self._opened = 0.0
        self._quick_ends = 0
        self.synced = threading.Event()
        self._informer = SharedInformer(self._list_or_watch, resync_period=RESYNC_SECONDS)
        for event_type in (ADDED, MODIFIED):
            # The first handler, so that nobody keeps an untrimmed object.
            self._informer.add_event_handler(event_type, _logged(trim))
            self._informer.add_event_handler(event_type, _logged(changed))
        self._informer.add_event_handler(DELETED, _logged(gone))
        self._informer.add_event_handler(ERROR, lambda error: failed(_failure(error)))

    def start(self) -> None:
        self._informer.start()

    def stop(self) -> None:
        """Ends the watch at once. `stop` has to be set before."""
        self._informer.stop()

    @property
    def alive(self) -> bool:
        thread = self._informer._thread
        return thread is not None and thread.is_alive()

    def get(self, key: str) -> JsonObject | None:
        """The copy of `namespace/name`, or of `name`."""
        found: JsonObject | None = self._informer.cache.get_by_key(key)
        return found

    def keys(self) -> list[str]:
        keys: list[str] = self._informer.cache.list_keys()
        return keys

    # The annotation is read: it tells the client's Watch that objects are plain JSON whose version it has to follow.
    def _list_or_watch(self, **asked: object) -> object:
        if asked.get("watch"):
            # SharedInformer watches once the list is in its cache, and told to the handlers.
            self.synced.set()
            return self._open(str(asked["resource_version"]))
        items, version = on_retry_after_error(
            _LIST_BACKOFF,
            self._worth_repeating,
            lambda: self._api.metadata(self._path(), self._selectors, self._trim),
            self._sleep,
        )
        return _Listing(items, _About(version))

    def _sleep(self, seconds: float) -> None:
        self._stop.wait(seconds)

    def _worth_repeating(self, error: Exception) -> bool:
        if self._stop.is_set() or not isinstance(error, ApiError):
            return False
        return error.reason.transient or error.reason is ErrorReason.EXPIRED

    def _open(self, version: str) -> object:
        self._pause()
        self._opened = time.monotonic()
        query = {
            **self._selectors,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        try:
            return self._api.open(self._path(), query, accept=METADATA, read_seconds=SILENCE_SECONDS)
        except ApiError as failure:
            if failure.reason is ErrorReason.EXPIRED:
                # In the client's own words, which make it list again.
                raise ApiException(status=410, reason=failure.message) from failure
            raise

    def _pause(self) -> None:
        """Waits before a watch is opened again, the longer the more often it has ended quickly, whatever the cause."""
        if self._opened and time.monotonic() - self._opened < _QUICK_SECONDS:
            self._quick_ends += 1
            longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(self._quick_ends, 16))
            self._stop.wait(longest * random.uniform(0.5, 1.0))  # noqa: S311
        else:
            self._quick_ends = 0


def _logged(handler: Callable[[JsonObject], None]) -> Callable[[JsonObject], None]:
    """The handler, whose faults are in our log: the informer's own log of them is off, and it carries on."""

    def handle(obj: JsonObject) -> None:
        try:
            handler(obj)
        except Exception:
            _log.exception("a handler of the informer failed")

    return handle


def _failure(error: object) -> ApiError:
    return (
        api_errors.from_exception(error)
        if isinstance(error, Exception)
        else ApiError(ErrorReason.UNEXPECTED, str(error))
    )
