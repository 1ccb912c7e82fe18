"""The controller recovers by itself from crashes, outages of the API server and dead connections."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from testbed.api import JsonObject
from testbed.claims import claim, request
from testbed.controllers import LONG_TESTS, NO_LEADER_ELECTION, controller, running_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED, create_all, injected_pod, managed_claims, wait_each_pod_has_its_claim
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.programs import WebhookServer
from testbed.servers import Options
from testbed.tcp_proxy import TCPProxy
from testbed.waiting import consistently, wait_for

pytestmark = pytest.mark.cluster


def test_pods_created_while_the_controller_was_down_get_their_claims(
    controlplane: ControlPlane, webhook: WebhookServer, namespace: Namespace
) -> None:
    create_all(namespace, [pod(generate_name="llama-", annotations=ANNOTATED)] * 50)
    assert namespace.claims() == []
    with running_controller(controlplane):
        assert len(wait_each_pod_has_its_claim(namespace)) == 50


def test_a_controller_killed_ten_times_in_a_burst_creates_each_claim_once_and_changes_no_other(
    controlplane: ControlPlane, webhook: WebhookServer, namespace: Namespace
) -> None:
    foreign = [namespace.create(claim(f"mine-{number}", request("gpu.nvidia.com"))) for number in range(5)]
    ours = controller(controlplane, environment=NO_LEADER_ELECTION)
    ours.process.start()
    manifests = [pod(generate_name="llama-", annotations=ANNOTATED)] * 300
    try:
        with ThreadPoolExecutor(4) as clients:
            burst = [clients.submit(namespace.create, manifest) for manifest in manifests]
            for kills in range(1, 11):
                # Spread over the burst, so that each kill interrupts its work.
                reached = kills * 25
                wait_for(f"{reached} claims", lambda: len(managed_claims(namespace)), lambda seen: seen >= reached)  # noqa: B023
                ours.process.kill()
                ours.process.start()
            for each in burst:
                each.result()
        assert len(wait_each_pod_has_its_claim(namespace)) == 300
        assert len(namespace.claims()) == 305
        assert [namespace.api.get(namespace.path("ResourceClaim", each["metadata"]["name"])) for each in foreign] == (
            foreign
        )
    finally:
        ours.process.kill()


def test_the_controller_continues_after_an_outage_of_the_api_server(
    make_controlplane: Callable[[Options], ControlPlane],
) -> None:
    plane = make_controlplane(Options())
    namespace = Namespace(plane.api())
    with running_controller(plane) as ours:
        create_all(namespace, [injected_pod(f"before-{number}") for number in range(5)])
        wait_each_pod_has_its_claim(namespace)
        plane.stop_apiserver()
        time.sleep(30 if LONG_TESTS else 8)
        assert ours.get("/healthz") == (200, "ok\n")
        plane.start_apiserver()
        create_all(namespace, [injected_pod(f"after-{number}") for number in range(5)])
        assert len(wait_each_pod_has_its_claim(namespace, timeout=30)) == 10


def test_the_controller_notices_a_dead_connection(controlplane: ControlPlane, namespace: Namespace) -> None:
    """Within the watch's read timeout of 40 seconds. Without leader election, to test the watch alone."""
    with (
        TCPProxy(int(controlplane.server.rpartition(":")[2])) as proxy,
        running_controller(controlplane, server=proxy.url, environment=NO_LEADER_ELECTION),
    ):
        namespace.create(injected_pod("before"))
        wait_each_pod_has_its_claim(namespace)
        proxy.freeze()
        namespace.create(injected_pod("meanwhile"))
        consistently("nothing gets through", namespace.claims, lambda claims: len(claims) == 1, seconds=3)
        proxy.thaw()
        # Open connections stay silent; only new ones get through.
        assert len(wait_each_pod_has_its_claim(namespace, timeout=60)) == 2


def test_a_deleted_claim_is_created_again(controlplane: ControlPlane, namespace: Namespace) -> None:
    with running_controller(controlplane):
        namespace.create(injected_pod("llama"))
        (before,) = wait_each_pod_has_its_claim(namespace)
        namespace.api.delete(namespace.path("ResourceClaim", before["metadata"]["name"]))
        wait_for(
            "another claim exists",
            lambda: uids(managed_claims(namespace)),
            lambda seen: seen not in ([], uids([before])),
        )
        wait_each_pod_has_its_claim(namespace)


def test_a_recreated_pod_gets_a_claim_of_its_own(controlplane: ControlPlane, namespace: Namespace) -> None:
    with running_controller(controlplane):
        for _ in range(3):
            namespace.create(injected_pod("llama-0"))
            wait_each_pod_has_its_claim(namespace)
            namespace.delete_pod("llama-0")
        namespace.wait_claims(0)


def uids(objects: list[JsonObject]) -> list[str]:
    return [each["metadata"]["uid"] for each in objects]
