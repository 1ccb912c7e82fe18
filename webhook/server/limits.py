"""Limits for each peer that are the same in every installation. Limits that an operator may change are settings."""

import signal
from typing import NamedTuple

HANDSHAKE_SECONDS = 5.0
"""For the TLS handshake, from the accepted connection to its end."""

REQUEST_SECONDS = 10.0
"""From the first byte of a request to the last. The API server's default timeout for a webhook is 10 s."""

RESPONSE_SECONDS = 10.0
"""For the peer to read the response."""

MAX_CONNECTION_SECONDS = 600.0
"""Age at which a connection is closed after the next response. API servers keep connections for days; closing them
moves load to replicas that were added since."""

CROWDED_HANDSHAKE_SECONDS = 1.0
CROWDED_UNUSED_SECONDS = 1.0
CROWDED_IDLE_SECONDS = 5.0
CROWDED_REQUEST_SECONDS = 5.0
"""Limits while more than three quarters of a worker's connections are in use: for the handshake, for idle connections
that have never carried a review, for those that have, and for a request and its response. Peers that hold connections
must not keep the API server out, and an API server that is only slowed down by the crowd must not lose a request."""

MAX_DISCARDED_BYTES = 16 << 20
"""Bytes of an unused body (wrong path, body too large) that are read and discarded to keep the connection usable.
If the body is longer, the connection is closed after a lingering close of at most the same size."""

LINGER_SECONDS = 2.0
"""For a peer that is still sending to read the response before the connection is closed. Closing a socket with unread
data resets the connection, and the peer's kernel may discard the response."""


class Timeouts(NamedTuple):
    """Time limits in seconds that depend on the load of the worker. An idle connection is `unused` if it has never
    carried a review. `request` is an upper bound of the limit of its phase."""

    handshake: float
    unused: float
    idle: float
    request: float


STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
"""Signals that stop a worker: SIGTERM after the drain time, the others at once."""
