"""A local cache of all objects of one kind, stripped, kept up to date by a watch.

The client's SharedInformer lists, watches and caches. The function that it lists and watches with makes up for what it
lacks:

- a watch has a read timeout, so that a dead connection is noticed;
- all objects are listed again every RESYNC_SECONDS, which heals the cache after a missed event; the client starts that
  period again with every watch;
- a failed watch is opened again after a back-off, not in a hot loop;
- lists are read in pages and retried with back-off;
- resource versions are followed for objects without a model;
- unused fields are stripped on arrival, and if only metadata is used, only metadata is requested;
- a failure is one log line, not a stack trace.
"""
# mypy: disable-error-code="no-untyped-call"
# The client claims to be typed, but many of its functions have no annotations.

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from kubernetes.client.exceptions import ApiException
from kubernetes.informer import ADDED, DELETED, ERROR, MODIFIED, SharedInformer

from webhook.backoff import Backoff
from webhook.cluster import api_errors
from webhook.cluster.api import JSON, METADATA, Api
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.json_tree import JsonObject, get_text

WATCH_SECONDS = 30
"""Seconds after which the API server closes a watch, after a bookmark with its resource version."""
SILENCE_SECONDS = 40.0
"""Seconds without a byte after which a watch is closed: more than WATCH_SECONDS."""
RESYNC_SECONDS = 600
"""Seconds between full lists, after which every object is reconciled again."""
BACKOFF = Backoff(first=0.1, maximum=10.0)
"""Delays of lists that fail and of watches that end within `_QUICK_SECONDS`."""

_LIST_ATTEMPTS = 7
_QUICK_SECONDS = 5.0

_T = TypeVar("_T")

_log = logging.getLogger("modelfit.informer")
# SharedInformer logs a stack trace for every network error; `failed` reports them instead.
logging.getLogger("kubernetes.informer.informer").setLevel(logging.CRITICAL)


class _ResyncDue(ApiException):
    """Makes SharedInformer list again, as an expired resource version does; not an error."""

    def __init__(self) -> None:
        super().__init__(status=410, reason="resync")


class _ListMeta(NamedTuple):
    resource_version: str


class _List(NamedTuple):
    """A list in the shape that SharedInformer reads."""

    items: list[JsonObject]
    metadata: _ListMeta


class Informer:
    """Caches the objects at `path()` that match the selectors. `path` is called every time: an API version may change.

    `strip(object)` removes unused fields in place; other threads may read the object meanwhile. `changed(object)` and
    `gone(object)` run in the informer's thread after the cache is updated, `failed(error)` after a failed call.
    """

    def __init__(
        self,
        api: Api,
        path: Callable[[], str],
        *,
        stop: threading.Event,
        strip: Callable[[JsonObject], None],
        changed: Callable[[JsonObject], None],
        gone: Callable[[JsonObject], None],
        failed: Callable[[ApiError], None],
        selectors: Mapping[str, str] | None = None,
        metadata_only: bool = True,
    ) -> None:
        self._api, self._path, self._stop, self._strip, self._failed = api, path, stop, strip, failed
        self._selectors = dict(selectors or {})
        self._metadata_only = metadata_only
        self._opened = 0.0
        self._listed = 0.0
        self._quick_ends = 0
        self.synced = threading.Event()
        self._informer = SharedInformer(self._list_or_watch, resync_period=RESYNC_SECONDS, key_func=_cache_key)
        for event_type in (ADDED, MODIFIED):
            # Registered first, so that `changed` gets a stripped object.
            self._informer.add_event_handler(event_type, _log_exceptions(strip))
            self._informer.add_event_handler(event_type, _log_exceptions(changed))
        # After a list SharedInformer reports what is gone before it updates the cache: the pod that is to get another
        # claim would still find the old one.
        self._informer.add_event_handler(DELETED, self._informer.cache._remove)
        self._informer.add_event_handler(DELETED, _log_exceptions(gone))
        self._informer.add_event_handler(ERROR, _log_exceptions(self._on_error))

    def start(self) -> None:
        self._informer.start()

    def stop(self) -> None:
        """Closes the watch at once. The `stop` event must be set before."""
        self._informer.stop()

    @property
    def alive(self) -> bool:
        thread = self._informer._thread
        return thread is not None and thread.is_alive()

    def get(self, key: str) -> JsonObject | None:
        """The cached object of `namespace/name`, or of `name` if it has no namespace."""
        found: JsonObject | None = self._informer.cache.get_by_key(key)
        return found

    def keys(self) -> list[str]:
        keys: list[str] = self._informer.cache.list_keys()
        return keys

    # The client's Watch inspects the return annotation: `object` makes it follow the resource version of plain JSON.
    def _list_or_watch(self, **query: object) -> object:
        if not query.get("watch"):
            return self._list()
        # SharedInformer opens a watch after the list is cached and its handlers have run.
        self.synced.set()
        return self._open_watch(str(query["resource_version"]))

    def _list(self) -> _List:
        """Retries up to `_LIST_ATTEMPTS` times; SharedInformer then reports the error and lists again."""
        failures, started = 0, time.monotonic()
        while True:
            try:
                items, version = self._api.list_objects(
                    self._path(), self._selectors, self._strip, metadata_only=self._metadata_only
                )
                self._listed = started
                return _List(items, _ListMeta(version))
            except ApiError as error:
                failures += 1
                may_pass = error.reason.server_unavailable or error.reason is ErrorReason.EXPIRED
                if failures == _LIST_ATTEMPTS or not may_pass or self._stop.is_set():
                    raise
                delay = max(BACKOFF.delay(failures), error.retry_after or 0.0)
            self._stop.wait(delay)

    def _open_watch(self, version: str) -> object:
        until_resync = self._listed + RESYNC_SECONDS - time.monotonic()
        if until_resync <= 0:
            raise _ResyncDue
        self._wait_before_reopening()
        self._opened = time.monotonic()
        query = {
            **self._selectors,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(min(WATCH_SECONDS, math.ceil(until_resync))),
        }
        try:
            accept = METADATA if self._metadata_only else JSON
            return self._api.open_stream(self._path(), query, accept=accept, read_seconds=SILENCE_SECONDS)
        except ApiError as error:
            if error.reason in (ErrorReason.EXPIRED, ErrorReason.INVALID):
                # The client's own exception for 410 makes SharedInformer list again. A resource version is invalid if
                # it comes from an event that is.
                raise ApiException(status=410, reason=error.message) from error
            raise

    def _wait_before_reopening(self) -> None:
        """Backs off if the last watch ended quickly, whatever the cause."""
        if self._opened and time.monotonic() - self._opened < _QUICK_SECONDS:
            self._quick_ends += 1
            self._stop.wait(BACKOFF.delay(self._quick_ends))
        else:
            self._quick_ends = 0

    def _on_error(self, error: object) -> None:
        if isinstance(error, _ResyncDue):
            return
        self._failed(
            api_errors.from_exception(error)
            if isinstance(error, Exception)
            else ApiError(ErrorReason.UNEXPECTED, "an error event in a watch")
        )


def _cache_key(obj: object) -> str:
    """The `namespace/name` or `name` of an object. Raises ApiError for what is not an object with a name: the watch is
    then opened again."""
    namespace, name = get_text(obj, "metadata", "namespace"), get_text(obj, "metadata", "name")
    if not name:
        raise ApiError(ErrorReason.UNEXPECTED, "an event without an object, or with one that has no name")
    return f"{namespace}/{name}" if namespace else name


def _log_exceptions(handler: Callable[[_T], None]) -> Callable[[_T], None]:
    """Logs exceptions of the handler: SharedInformer's own log is off, and it continues."""

    def handle(obj: _T) -> None:
        try:
            handler(obj)
        except Exception:
            _log.exception("informer handler failed")

    return handle
