"""Reviews sent as an API server sends them: over pooled connections, by clients that trust exactly today's caBundle."""

from __future__ import annotations

import json
import random
import ssl
import time
import uuid
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import urllib3

from testbed.background import Background
from testbed.certified import HOST, Installation, trusting
from testbed.pods import pod
from testbed.servers import LOOPBACK
from testbed.webhooks import ANNOTATION, MUTATING

FIT = '{"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 8}'
JSON = {"Content-Type": "application/json"}
POLL_SECONDS = 0.1
"""Between looks at the configuration; an API server watches it."""


class Address(Protocol):
    """Where a webhook listens on loopback: a replica, or what leads to one."""

    port: int


class Answered(NamedTuple):
    """A review that was answered: when it was sent (by `time.monotonic`), and how many seconds that took."""

    at: float
    seconds: float


class Reviewers(Background):
    """`per_second` reviews by `threads` clients, each to any of the addresses, while inside the `with`.

    A connection is kept and used again, and now and then given up, so that new handshakes are among them all the time;
    another bundle makes another pool, as in an API server.
    """

    def __init__(
        self,
        installation: Installation,
        addresses: Sequence[Address],
        *,
        per_second: float = 20,
        threads: int = 3,
    ) -> None:
        self._installation, self._addresses = installation, addresses
        self._pause = threads / per_second
        self._bundle = installation.bundles()[MUTATING]
        self.answered: list[Answered] = []
        self.connections = 0
        self.bundles = [self._bundle]
        """Each that was published, in order."""
        self.failures: list[str] = []
        super().__init__([self._watch, *[self._review] * threads])

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

    def _review(self) -> None:
        pools: dict[int, urllib3.HTTPSConnectionPool] = {}
        trusted = b""
        took = 0.0
        while not self._stop.wait(max(0.0, self._pause * random.uniform(0.5, 1.5) - took)):  # noqa: S311
            began = time.monotonic()
            if self._bundle != trusted:
                trusted = self._bundle
                pools = {each.port: self._pool(each.port, trusting(trusted)) for each in self._addresses}
            pool = random.choice([*pools.values()])  # noqa: S311
            if random.random() < 0.3:  # noqa: S311
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
        def ask(body: str) -> bytes:
            return pool.request("POST", "/mutate", body=body, headers=JSON).data

        send(ask, f"port {pool.port}", self.answered, self.failures)


def send(ask: Callable[[str], bytes], where: str, answered: list[Answered], failures: list[str]) -> None:
    """One review, sent by `ask`, which gives the body of the answer; `where` is for people. Notes what came of it."""
    uid = str(uuid.uuid4())
    body = json.dumps(review(uid))
    started = time.monotonic()
    try:
        said = json.loads(ask(body))["response"]
        assert (said["uid"], said["allowed"]) == (uid, True), said
    except Exception as problem:
        failures.append(f"{time.strftime('%X')} {where}: {problem!r}")
    else:
        answered.append(Answered(started, time.monotonic() - started))


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
