"""Free ports on loopback."""

from __future__ import annotations

import random
import socket

_BELOW_EPHEMERAL = range(10_000, 32_768)
"""Linux hands out 32768 and up to outgoing connections: such a port can be gone when a server comes back to it."""

_given: set[int] = set()


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens now and that this process has not given out before."""
    for port in random.sample(_BELOW_EPHEMERAL, k=200):
        if port in _given:
            continue
        with socket.socket() as probe:
            # As the servers do: a port whose old connections are only lingering is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port
    raise RuntimeError(f"no free port found on 127.0.0.1 between {_BELOW_EPHEMERAL.start} and {_BELOW_EPHEMERAL.stop}")
