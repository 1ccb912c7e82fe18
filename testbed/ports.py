"""Free ports on loopback."""

from __future__ import annotations

import random
import socket

_BELOW_EPHEMERAL = range(10_000, 32_768)
"""Linux uses ports from 32768 for outgoing connections, which could take a stopped server's port."""

_given: set[int] = set()


def free_port() -> int:
    """A free port of 127.0.0.1 that this process has not returned before."""
    for port in random.sample(_BELOW_EPHEMERAL, k=200):
        if port in _given:
            continue
        with socket.socket() as probe:
            # As the servers do: a port with connections in TIME_WAIT is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port
    raise RuntimeError(f"no free port found on 127.0.0.1 between {_BELOW_EPHEMERAL.start} and {_BELOW_EPHEMERAL.stop}")
