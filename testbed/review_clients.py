"""Clients that send AdmissionReviews as an API server does, trusting exactly the current caBundle."""

from __future__ import annotations

import http.client
import json
import random
import select
import socket
import ssl
import time
import uuid
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import urllib3

from testbed.background import BackgroundThreads
from testbed.certified import HOST, Installation, trusting
from testbed.pods import pod
from testbed.servers import LOOPBACK
from testbed.webhooks import ANNOTATION, MUTATING

FIT = '{"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 8}'
JSON = {"Content-Type": "application/json"}
POLL_SECONDS = 0.1
"""Between reads of the webhook configuration, which an API server watches."""


class Address(Protocol):
    """Where a webhook, or a proxy in front of it, listens on loopback."""

    port: int


class AnsweredReview(NamedTuple):
    """When a review was sent (`time.monotonic`) and how many seconds its answer took."""

    at: float
    seconds: float


class ReviewClients(BackgroundThreads):
    """Sends `per_second` reviews from `threads` clients to random addresses, while inside the `with`.

    Connections are pooled and now and then replaced, so that new handshakes occur all the time. Another caBundle means
    another pool, as in an API server.
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
        self.answered: list[AnsweredReview] = []
        self.connections = 0
        self.bundles = [self._bundle]
        """Every caBundle that was published, in order."""
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
        """The number of reviews sent so far."""
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
        def post(body: str) -> bytes:
            return pool.request("POST", "/mutate", body=body, headers=JSON).data

        send(post, f"port {pool.port}", self.answered, self.failures)


class KeepAliveClients(BackgroundThreads):
    """Sends reviews over `clients` connections that stay open and idle for up to `longest` seconds between reviews.

    A server that drains closes idle connections and cannot see a review that is on its way. As an API server does, each
    client checks that its connection is still open before it uses it. It connects straight to the port that `pick_port`
    returns: a proxy would widen the window in which a review can be lost.
    """

    def __init__(
        self, installation: Installation, pick_port: Callable[[], int], *, longest: float, clients: int = 3
    ) -> None:
        self._installation, self._pick_port, self._longest = installation, pick_port, longest
        self.answered: list[AnsweredReview] = []
        self.failures: list[str] = []
        super().__init__([self._review] * clients)

    def _review(self) -> None:
        connection = http.client.HTTPSConnection(LOOPBACK)
        trusted = b""
        while not self._stop.wait(random.uniform(0, self._longest)):  # noqa: S311

            def post(body: str) -> bytes:
                nonlocal connection, trusted
                bundle = self._installation.bundles()[MUTATING]
                if bundle != trusted or _is_closed(connection):
                    connection.close()
                    connection, trusted = self._connect(bundle), bundle
                connection.request("POST", "/mutate", body, JSON)
                return connection.getresponse().read()

            send(post, "a keep-alive connection", self.answered, self.failures)
        connection.close()

    def _connect(self, bundle: bytes) -> http.client.HTTPSConnection:
        port = self._pick_port()
        connection = http.client.HTTPSConnection(LOOPBACK, port)
        plain = socket.create_connection((LOOPBACK, port), timeout=10)
        connection.sock = trusting(bundle).wrap_socket(plain, server_hostname=HOST)
        return connection


def _is_closed(connection: http.client.HTTPSConnection) -> bool:
    """Whether the server has closed it, or it was never opened. An idle server sends nothing but the close."""
    return connection.sock is None or bool(select.select([connection.sock], [], [], 0)[0])


def send(post: Callable[[str], bytes], target: str, answered: list[AnsweredReview], failures: list[str]) -> None:
    """Sends one review through `post`, which returns the response body. Appends the result to `answered` or `failures`;
    `target` names the connection in failures."""
    uid = str(uuid.uuid4())
    body = json.dumps(review(uid))
    started = time.monotonic()
    try:
        response = json.loads(post(body))["response"]
        assert (response["uid"], response["allowed"]) == (uid, True), response
    except Exception as problem:
        failures.append(f"{time.strftime('%X')} {target}: {problem!r}")
    else:
        answered.append(AnsweredReview(started, time.monotonic() - started))


def review(uid: str) -> dict[str, object]:
    """An AdmissionReview for the creation of an annotated pod."""
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
