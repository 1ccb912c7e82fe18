"""Several webhooks behind one address: connections go to those that are ready, and to others for a moment only."""

from __future__ import annotations

import pytest

from testbed.programs import WebhookServer
from testbed.service import STALE_SECONDS, Endpoints, is_ready
from testbed.waiting import consistently, wait_for

pytestmark = pytest.mark.cluster


def port_of(server: WebhookServer) -> int:
    return int(server.url.rpartition(":")[2])


def chosen(endpoints: Endpoints) -> int | None:
    try:
        return endpoints.pick_port()
    except ConnectionRefusedError:
        return None


def test_who_is_ready_is_chosen_and_who_has_gone_is_for_a_moment_only(server: WebhookServer) -> None:
    port = port_of(server)
    assert is_ready(port)
    with Endpoints([port]) as endpoints:
        wait_for("it is chosen", lambda: chosen(endpoints) == port)
        server.process.kill()
        assert not is_ready(port)
        consistently("it is still chosen", lambda: chosen(endpoints), lambda seen: seen == port, seconds=STALE_SECONDS)
        wait_for("it is not chosen any more", lambda: chosen(endpoints) is None)
        server.start()
        wait_for("it is chosen again", lambda: chosen(endpoints) == port)
