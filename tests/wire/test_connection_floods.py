"""More connections than a worker holds: the shorter time limits of a crowded worker make room for others.

No other time limit ends a connection here: without those of a crowded worker the reviews would never be answered.
"""

from tests.wire.peers import client_hello, post_request
from tests.wire.server_process import NO_TIME_LIMITS, Launcher, RunningServer, post_review

MAX_CONNECTIONS = 64
FLOOD = 200
SETTINGS = {"max_connections": MAX_CONNECTIONS, "keep_alive_seconds": 3600}


def check_reviews(server: RunningServer) -> None:
    for _ in range(20):
        post_review(server.client())


def test_unfinished_handshakes_do_not_keep_others_out(launcher: Launcher) -> None:
    launcher.prelude = NO_TIME_LIMITS
    with launcher.serving(settings=SETTINGS) as server:
        for _ in range(FLOOD):
            server.connect().sendall(client_hello()[:8])
        check_reviews(server)


def test_unfinished_requests_do_not_keep_others_out(launcher: Launcher) -> None:
    launcher.prelude = NO_TIME_LIMITS
    with launcher.serving(settings=SETTINGS) as server:
        for _ in range(MAX_CONNECTIONS):
            server.tls().sendall(post_request()[:10])
        check_reviews(server)


def test_idle_connections_that_carried_no_review_do_not_keep_others_out(launcher: Launcher) -> None:
    launcher.prelude = NO_TIME_LIMITS
    with launcher.serving(settings=SETTINGS) as server:
        for _ in range(FLOOD):
            server.tls()
        check_reviews(server)


def test_idle_connections_that_carried_a_review_do_not_keep_others_out(launcher: Launcher) -> None:
    launcher.prelude = NO_TIME_LIMITS
    with launcher.serving(settings=SETTINGS) as server:
        for _ in range(FLOOD):
            post_review(server.client())
