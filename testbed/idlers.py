"""Reviews at long and random intervals over connections that are kept, as an API server keeps those it can spare."""

from __future__ import annotations

import http.client
import random
import select
import socket
from collections.abc import Callable

from testbed.background import Background
from testbed.certified import HOST, Installation, trusting
from testbed.reviewers import JSON, Answered, send
from testbed.servers import LOOPBACK
from testbed.webhooks import MUTATING


class Idlers(Background):
    """`clients` with a connection each, which they leave alone for up to `longest` seconds between two reviews, and do
    not give up themselves, while inside the `with`.

    A server that has drained ends the connections on which nothing came, and cannot see a review that is on its way.
    So they look, as an API server does, whether the connection is over before they use it, and connect to the port that
    `choose` gives with nothing in between: a relay would add its time to the moment in which a review can be lost.
    """

    def __init__(
        self, installation: Installation, choose: Callable[[], int], *, longest: float, clients: int = 3
    ) -> None:
        self._installation, self._choose, self._longest = installation, choose, longest
        self.answered: list[Answered] = []
        self.failures: list[str] = []
        super().__init__([self._review] * clients)

    def _review(self) -> None:
        connection = http.client.HTTPSConnection(LOOPBACK)
        trusted = b""
        while not self._stop.wait(random.uniform(0, self._longest)):  # noqa: S311

            def ask(body: str) -> bytes:
                nonlocal connection, trusted
                bundle = self._installation.bundles()[MUTATING]
                if bundle != trusted or _is_over(connection):
                    connection.close()
                    connection, trusted = self._connected(bundle), bundle
                connection.request("POST", "/mutate", body, JSON)
                return connection.getresponse().read()

            send(ask, "a kept connection", self.answered, self.failures)
        connection.close()

    def _connected(self, bundle: bytes) -> http.client.HTTPSConnection:
        port = self._choose()
        made = http.client.HTTPSConnection(LOOPBACK, port)
        plain = socket.create_connection((LOOPBACK, port), timeout=10)
        made.sock = trusting(bundle).wrap_socket(plain, server_hostname=HOST)
        return made


def _is_over(connection: http.client.HTTPSConnection) -> bool:
    """Whether it was ended, or never begun. Nothing that a server sends unasked means anything else."""
    return connection.sock is None or bool(select.select([connection.sock], [], [], 0)[0])
