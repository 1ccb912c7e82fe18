"""What a peer may cost. What an operator may want to change is a setting; these hold for everybody."""

import signal

HANDSHAKE_SECONDS = 5.0
"""For the whole TLS handshake, from the accepted connection."""

REQUEST_SECONDS = 10.0
"""From the first byte of a request to its last. The API server gives up on a webhook after 10 by default."""

ANSWER_SECONDS = 10.0
"""For the peer to take the answer."""

CONNECTION_SECONDS = 600.0
"""Age at which a connection is ended with its next answer, so that an API server that keeps its connections for days
comes to use a replica that was added since."""

CROWDED_SECONDS = 5.0
"""How long a connection may stay idle once three quarters of a worker's connections are taken."""

UNREAD_BYTES = 16 << 20
"""Of a body that nobody wanted (a wrong path, a review that is too large): read and dropped, so that the connection can
be used again. A longer one costs the connection, after as much again in which the peer may notice."""

LINGER_SECONDS = 2.0
"""How long a peer that is still sending may take to read the answer that ends the connection. Closed at once, its
kernel would throw the answer away."""

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
"""What ends a worker, in order."""
