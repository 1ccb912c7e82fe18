"""A work queue of keys `namespace/name`: each is queued at most once and processed by one worker at a time, as in
client-go's workqueue. In addition it is fair over namespaces, and a namespace backs off as a whole.

- Namespaces with ready keys take turns, and keys that were never tried come before retries: see `ReadyFlows`. Of
  several workers, one namespace never has all.
- A key that fails for a reason of the server is retried with a back-off of its own. One that fails for a reason of its
  pod too, and the more of them a namespace has, the longer.
- A failure for a reason of the namespace makes its keys wait: see `namespace_keys.Flow`.
- `add` does not end a back-off, so that updates of a pod cause no additional attempts.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable

from webhook.backoff import Backoff
from webhook.cluster.api_errors import Scope
from webhook.controller.due_times import DueTimes
from webhook.controller.namespace_keys import FIRST_SECONDS, FREED_SECONDS, MAX_SECONDS, Flow, FlowKind, NamespaceKeys
from webhook.controller.ready_flows import ReadyFlows
from webhook.controller.results import Result

BACKOFF = Backoff(first=FIRST_SECONDS, maximum=MAX_SECONDS)
"""Delays of the retries of a key."""
INVALID_PER_SECOND = 2.0
"""Maximum rate of retries of a namespace's keys that fail for a reason of their pod."""


class WorkQueue:
    def __init__(self, workers: int = 1, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_processing = max(1, workers - 1)
        """Number of workers that one namespace can have."""
        self._clock = clock
        self._condition = threading.Condition()
        self._namespaces: dict[str, NamespaceKeys] = {}
        self._flows: dict[str, Flow] = {}
        """Key to the flow that it waits in."""
        self._ready = ReadyFlows()
        self._processing: dict[str, Flow] = {}  # Key to the flow that it was taken from.
        self._dirty: dict[str, bool] = {}
        """Keys that were added while they were processed, and whether `wake` did it."""
        self._delayed: DueTimes[str] = DueTimes()
        self._backing_off: DueTimes[Flow] = DueTimes()
        self._failures: dict[str, int] = {}
        """Failures in a row of each key."""
        self._closed = False

    def add(self, key: str) -> None:
        with self._condition:
            self._add(key)

    def add_all(self, keys: list[str]) -> None:
        with self._condition:
            for key in keys:
                self._add(key)

    def get(self, timeout: float) -> str | None:
        """The next key, which the worker passes to `done` at the end; None after `timeout` seconds or once closed."""
        deadline = self._clock() + timeout
        with self._condition:
            while not self._closed:
                now = self._clock()
                self._end_delays(now)
                flow = self._ready.next(self._may_serve)
                if flow is not None:
                    return self._take(flow)
                if deadline <= now:
                    return None
                due = [each for each in (self._delayed.next_due(), self._backing_off.next_due()) if each is not None]
                self._condition.wait(max(min(deadline, *due) - now if due else deadline - now, 0.001))
            return None

    def done(self, key: str, result: Result) -> None:
        """The worker has finished with the key."""
        with self._condition:
            flow = self._processing.pop(key)
            keys = self._namespace_keys(flow.namespace)
            keys.processing -= 1
            keys.invalid.discard(key)
            was_trial = flow.trial == key
            if was_trial:
                flow.trial = None
            if result.scope is Scope.NAMESPACE:
                self._refuse(key, flow, result, was_trial)
            elif result.requeue:
                self._retry(key, flow, result, was_trial)
            else:
                self._failures.pop(key, None)
                if result.created:
                    self._succeed(keys, flow, was_trial)
            self._update(flow)
            if key in self._dirty:
                if self._dirty.pop(key):
                    self._discard(key)
                self._add(key)
            self._remove_unused(flow.namespace)
            self._condition.notify()

    def wake(self, key: str) -> None:
        """Queues the key, and ends its own back-off: what it waited for has happened."""
        with self._condition:
            self._discard(key)
            self._add(key)
            if key in self._dirty:
                self._dirty[key] = True

    def discard(self, key: str) -> None:
        """The object is gone."""
        with self._condition:
            self._discard(key)
            self._dirty.pop(key, None)
            self._remove_unused(_namespace(key))

    def end_backoff(self, namespace: str, reason: str) -> None:
        """The reason for which the namespace backs off may have passed."""
        with self._condition:
            keys = self._namespaces.get(namespace)
            if keys is not None and reason in keys.refused and keys.refused[reason].failures:
                keys.refused[reason].failures = 1
                self._try_soon((keys.new, keys.due, keys.refused[reason]))
                self._condition.notify()

    def clear(self) -> None:
        """Drops all queued and delayed keys, and ends all back-offs."""
        with self._condition:
            self._namespaces.clear()
            self._flows.clear()
            self._ready = ReadyFlows()
            self._dirty.clear()
            self._delayed, self._backing_off = DueTimes(), DueTimes()
            self._failures.clear()
            for key in self._processing:
                keys = self._namespace_keys(_namespace(key))
                keys.processing += 1
                self._processing[key] = keys.new

    def close(self) -> None:
        """Makes every `get` return None."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    @property
    def depth(self) -> int:
        """Number of keys that wait for a worker, without those that back off."""
        with self._condition:
            return self._ready.depth

    @property
    def retrying(self) -> int:
        """Number of keys that back off, each by itself or with its namespace."""
        with self._condition:
            return len(self._delayed) + len(self._flows) - self._ready.depth

    @property
    def oldest_seconds(self) -> float:
        """Seconds for which the oldest key has waited for a worker; 0 if there is none."""
        with self._condition:
            return self._ready.oldest_seconds(self._clock())

    @property
    def namespaces_backing_off(self) -> Counter[str]:
        """Number of namespaces by the reason for which they back off."""
        with self._condition:
            return Counter(
                reason
                for keys in self._namespaces.values()
                for reason, flow in keys.refused.items()
                if flow.failures and (flow.keys or flow.trial or keys.new.keys)
            )

    def _add(self, key: str) -> None:
        if key in self._processing:
            self._dirty.setdefault(key, False)
        elif key not in self._flows and key not in self._delayed:
            self._queue(key, self._namespace_keys(_namespace(key)).new)

    def _queue(self, key: str, flow: Flow) -> None:
        flow.keys[key] = self._clock()
        self._flows[key] = flow
        self._update(flow)
        self._condition.notify()

    def _discard(self, key: str) -> None:
        self._delayed.discard(key)
        self._failures.pop(key, None)
        flow = self._flows.pop(key, None)
        if flow is not None:
            del flow.keys[key]
            self._update(flow)
        keys = self._namespaces.get(_namespace(key))
        if keys is not None:
            keys.invalid.discard(key)

    def _take(self, flow: Flow) -> str:
        key = next(iter(flow.keys))
        del flow.keys[key], self._flows[key]
        if flow.failures:
            flow.trial = key
        self._processing[key] = flow
        self._namespace_keys(flow.namespace).processing += 1
        # Its next turn comes after those of the others.
        self._ready.remove(flow)
        self._update(flow)
        return key

    def _refuse(self, key: str, flow: Flow, result: Result, was_trial: bool) -> None:
        """The namespace backs off, and the key waits with it if it is to be tried again."""
        self._failures.pop(key, None)
        keys = self._namespace_keys(flow.namespace)
        refused = keys.refused.setdefault(result.reason, Flow(flow.namespace, FlowKind.REFUSED))
        if result.requeue:
            self._queue(key, refused)
        # Attempts that began before the back-off do not extend it.
        if not refused.failures or (was_trial and refused is flow):
            self._back_off(refused, result.requeue_after)
        if flow is not refused and (was_trial or not flow.failures):
            self._back_off(flow, result.requeue_after)
        for each in (keys.new, keys.due):
            if not each.failures:
                self._back_off(each, result.requeue_after)

    def _retry(self, key: str, flow: Flow, result: Result, was_trial: bool) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = BACKOFF.delay(failures)
        if result.scope is Scope.POD:
            keys = self._namespace_keys(flow.namespace)
            keys.invalid.add(key)
            delay = max(delay, len(keys.invalid) / INVALID_PER_SECOND)
        self._delayed.set(key, self._clock() + max(delay, result.requeue_after))
        if was_trial and result.scope is Scope.SERVER:
            # It is unknown whether the namespace still refuses.
            self._back_off(flow, result.requeue_after)

    def _succeed(self, keys: NamespaceKeys, flow: Flow, was_trial: bool) -> None:
        if was_trial:
            for each in (flow, keys.new, keys.due):
                each.open(self._clock())
                self._backing_off.discard(each)
                self._update(each)
        # A pod that was accepted may be a sign that others are.
        self._try_soon(tuple(each for each in keys.refused.values() if each is not flow))

    def _back_off(self, flow: Flow, min_delay: float) -> None:
        now = self._clock()
        self._backing_off.set(flow, now + max(flow.fail(now), min_delay))
        self._update(flow)

    def _try_soon(self, flows: tuple[Flow, ...]) -> None:
        for flow in flows:
            if flow in self._backing_off:
                self._backing_off.set(flow, self._clock() + FREED_SECONDS)

    def _end_delays(self, now: float) -> None:
        while (key := self._delayed.pop(now)) is not None:
            self._queue(key, self._namespace_keys(_namespace(key)).due)
        while (flow := self._backing_off.pop(now)) is not None:
            self._update(flow)
            self._remove_unused(flow.namespace)

    def _may_serve(self, flow: Flow) -> bool:
        return self._namespaces[flow.namespace].processing < self._max_processing

    def _update(self, flow: Flow) -> None:
        """Makes the flow ready if it has a key to serve now."""
        waits = flow.failures and (flow.trial is not None or flow in self._backing_off)
        if flow.keys and not waits:
            self._ready.add(flow)
        else:
            self._ready.remove(flow)

    def _remove_unused(self, namespace: str) -> None:
        """Forgets the namespace's reasons without keys some time after the last failure, so that pods which are deleted
        and created again do not end the back-off; and the namespace if nothing is left."""
        keys = self._namespaces.get(namespace)
        if keys is None:
            return
        for reason, flow in list(keys.refused.items()):
            if not flow.keys and flow.trial is None and flow not in self._backing_off:
                if self._clock() < flow.failed + MAX_SECONDS:
                    self._backing_off.set(flow, flow.failed + MAX_SECONDS)
                else:
                    del keys.refused[reason]
        if not keys.refused:
            for flow in (keys.new, keys.due):
                flow.open(self._clock())
                self._backing_off.discard(flow)
                self._update(flow)
        if keys.is_empty:
            del self._namespaces[namespace]

    def _namespace_keys(self, namespace: str) -> NamespaceKeys:
        if namespace not in self._namespaces:
            self._namespaces[namespace] = NamespaceKeys(namespace)
        return self._namespaces[namespace]


def _namespace(key: str) -> str:
    return key.partition("/")[0]
