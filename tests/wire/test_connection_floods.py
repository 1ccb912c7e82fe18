"""More connections than a worker holds. No time limit ends one here, so the machine's speed changes no result."""

from tests.wire.peers import client_hello, is_closed
from tests.wire.server_process import NO_TIME_LIMITS, Launcher, RunningServer, post_review

MAX_CONNECTIONS = 64
FLOOD = 200
NO_TIME_LIMITS_WHEN_CROWDED = (
    f"{NO_TIME_LIMITS}; limits.CROWDED_HANDSHAKE_SECONDS = limits.CROWDED_UNUSED_SECONDS = 3600"
)
SETTINGS = {"max_connections": MAX_CONNECTIONS, "keep_alive_seconds": 3600}


def evicted(server: RunningServer) -> float:
    return server.metric('modelfit_broken_connections_total{cause="evicted"}')


def test_unfinished_handshakes_do_not_keep_others_out(launcher: Launcher) -> None:
    launcher.prelude = NO_TIME_LIMITS_WHEN_CROWDED
    with launcher.serving(settings=SETTINGS) as server:
        api_server = server.client()
        post_review(api_server)
        for _ in range(FLOOD):
            server.connect().sendall(client_hello()[:8])
        for _ in range(20):
            post_review(server.client())
        post_review(api_server)
        assert evicted(server) >= FLOOD - MAX_CONNECTIONS


def test_stalled_requests_do_not_keep_others_out(launcher: Launcher) -> None:
    launcher.prelude = f"{NO_TIME_LIMITS_WHEN_CROWDED}; limits.STALLED_SECONDS = 0.05"
    with launcher.serving(settings=SETTINGS) as server:
        api_server = server.client()
        post_review(api_server)
        peers = []
        for _ in range(FLOOD):
            peers.append(server.tls())
            peers[-1].sendall(b"P")
        for _ in range(20):
            post_review(server.client())
        post_review(api_server)
        assert evicted(server) >= FLOOD - MAX_CONNECTIONS


def test_idle_connections_that_carried_no_review_do_not_keep_others_out(launcher: Launcher) -> None:
    launcher.prelude = NO_TIME_LIMITS_WHEN_CROWDED
    with launcher.serving(settings=SETTINGS) as server:
        api_server = server.client()
        post_review(api_server)
        peers = [server.tls() for _ in range(FLOOD)]
        for _ in range(20):
            post_review(server.client())
        post_review(api_server)
        assert is_closed(peers[0])


def test_idle_connections_that_carried_a_review_do_not_keep_others_out(launcher: Launcher) -> None:
    launcher.prelude = f"{NO_TIME_LIMITS_WHEN_CROWDED}; limits.STALLED_SECONDS = 0.05"
    with launcher.serving(settings=SETTINGS) as server:
        for _ in range(FLOOD):
            post_review(server.client())
        assert evicted(server) >= FLOOD - MAX_CONNECTIONS
