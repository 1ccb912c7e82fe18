"""Reviews sent as an API server sends them: over pooled connections, by clients that trust exactly today's caBundle."""

from __future__ import annotations

import json
import random
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import NamedTuple, Protocol

import urllib3

from .certified import HOST, Installation, trusting
from .pods import pod
from .servers import LOOPBACK
from .webhooks import ANNOTATION, MUTATING

FIT = '{"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 8}'
POLL_SECONDS = 0.1
"""Between looks at the configuration; an API server watches it."""


class Address(Protocol):
    """Where a webhook listens on loopback: a replica, or what leads to one."""

    port: int


class Answered(NamedTuple):
    """A review that was answered: when it was sent (by `time.monotonic`), and how many seconds that took."""

    at: float
    seconds: float


class Reviewers:
    """`per_second` reviews by `threads` clients, each to any of the addresses, while inside the `with`.

    A connection is kept and used again, and now and then given up, so that new handshakes are among them all the time;
    another bundle makes another pool, as in an API server. With `idle_seconds` as many clients come on top whose
    connections are left alone between reviews for up to so long, and are given up by the server only.
    """

    def __init__(
        self,
        installation: Installation,
        addresses: Sequence[Address],
        *,
        per_second: float = 20,
        threads: int = 3,
        idle_seconds: float = 0,
    ) -> None:
        self._installation, self._addresses = installation, addresses
        self._stop = threading.Event()
        self._bundle = installation.bundles()[MUTATING]
        self.answered: list[Answered] = []
        self.connections = 0
        self.bundles = [self._bundle]
        """Each that was published, in order."""
        self.failures: list[str] = []
        pause = threads / per_second
        loops: list[Callable[[], None]] = [
            self._watch,
            *[partial(self._review, pause * 0.5, pause * 1.5, 0.3)] * threads,
        ]
        if idle_seconds:
            loops += [partial(self._review, 0, idle_seconds, 0)] * threads
        self._threads = [threading.Thread(target=loop, daemon=True, name="reviewer") for loop in loops]

    def __enter__(self) -> Reviewers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(POLL_SECONDS):
            found = self._installation.bundles()[MUTATING]
            if found != self._bundle:
                self.bundles.append(found)
                self._bundle = found

    @property
    def reviews(self) -> int:
        """How many were sent so far."""
        return len(self.answered) + len(self.failures)

    def _review(self, shortest: float, longest: float, renewed: float) -> None:
        """Pauses from `shortest` to `longest` seconds; a part of the reviews, `renewed`, has a new connection."""
        pools: dict[int, urllib3.HTTPSConnectionPool] = {}
        trusted = b""
        took = 0.0
        while not self._stop.wait(max(0.0, random.uniform(shortest, longest) - took)):  # noqa: S311
            began = time.monotonic()
            if self._bundle != trusted:
                trusted = self._bundle
                pools = {each.port: self._pool(each.port, trusting(trusted)) for each in self._addresses}
            pool = random.choice([*pools.values()])  # noqa: S311
            if random.random() < renewed:  # noqa: S311
                pool.close()
                pool = pools[pool.port or 0] = self._pool(pool.port or 0, trusting(trusted))
            self._send(pool)
            took = time.monotonic() - began

    def _pool(self, port: int, context: ssl.SSLContext) -> urllib3.HTTPSConnectionPool:
        self.connections += 1
        return urllib3.HTTPSConnectionPool(
            LOOPBACK, port, retries=False, timeout=10, ssl_context=context, server_hostname=HOST, assert_hostname=HOST
        )

    def _send(self, pool: urllib3.HTTPSConnectionPool) -> None:
        uid = str(uuid.uuid4())
        body = json.dumps(review(uid))
        started = time.monotonic()
        try:
            answer = pool.request("POST", "/mutate", body=body, headers={"Content-Type": "application/json"})
            said = answer.json()["response"]
            assert (said["uid"], said["allowed"]) == (uid, True), said
        except Exception as problem:
            self.failures.append(f"{time.strftime('%X')} {pool.port}: {problem!r}")
        else:
            self.answered.append(Answered(started, time.monotonic() - started))


def review(uid: str) -> dict[str, object]:
    """The creation of an annotated pod."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "namespace": "team",
            "name": "llama",
            "object": pod("llama", annotations={ANNOTATION: FIT}),
        },
    }
