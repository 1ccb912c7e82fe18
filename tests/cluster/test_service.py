"""The endpoints of several webhooks: connections go to ready replicas, and to others only for a moment."""

from __future__ import annotations

import pytest

from testbed.programs import WebhookServer
from testbed.service import STALE_SECONDS, Endpoints, is_ready
from testbed.waiting import consistently, wait_for

pytestmark = pytest.mark.cluster


def port_of(server: WebhookServer) -> int:
    return int(server.url.rpartition(":")[2])


def picked_port(endpoints: Endpoints) -> int | None:
    try:
        return endpoints.pick_port()
    except ConnectionRefusedError:
        return None


def test_a_ready_replica_is_picked_and_a_stopped_one_only_for_a_moment(server: WebhookServer) -> None:
    port = port_of(server)
    assert is_ready(port)
    with Endpoints([port]) as endpoints:
        wait_for("its port is picked", lambda: picked_port(endpoints) == port)
        server.process.kill()
        assert not is_ready(port)
        consistently(
            "its port is still picked",
            lambda: picked_port(endpoints),
            lambda found: found == port,
            seconds=STALE_SECONDS,
        )
        wait_for("its port is no longer picked", lambda: picked_port(endpoints) is None)
        server.start()
        wait_for("its port is picked again", lambda: picked_port(endpoints) == port)
