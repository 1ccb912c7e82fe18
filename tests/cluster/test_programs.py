"""The fixtures that run the program under test: real processes of it, on the real control plane."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from testbed.controlplane import ControlPlane
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.processes import Process
from testbed.programs import WebhookServer, modelfit, webhook_server
from testbed.webhooks import ANNOTATION, registered

pytestmark = pytest.mark.cluster

NEEDS_A_GPU = {ANNOTATION: json.dumps({"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 8})}


def test_an_annotated_pod_goes_through_the_real_webhook(namespace: Namespace, webhook: WebhookServer) -> None:
    made = namespace.create(pod("a", annotations=NEEDS_A_GPU))
    (alias,) = made["spec"]["resourceClaims"]
    assert made["metadata"]["annotations"]["llmfit.ai/claim"] == alias["resourceClaimName"]


def test_the_webhook_can_be_killed_and_started_again(
    controlplane: ControlPlane, namespace: Namespace, server: WebhookServer
) -> None:
    with registered(controlplane, server.url, server.files.ca.read_bytes()):
        server.process.kill()
        refused = controlplane.kubectl(
            "create", "-n", namespace.name, "-f", "-", input=pod("a", annotations=NEEDS_A_GPU)
        )
        assert refused.returncode == 1
        assert "failed calling webhook" in refused.stderr
        server.start()
        controlplane.kubectl("create", "-n", namespace.name, "-f", "-", input=pod("a", annotations=NEEDS_A_GPU)).ok()


def test_settings_reach_the_program_by_environment(programs: Callable[[Process], Process]) -> None:
    wrong = programs(webhook_server(environment={"MODELFIT_PROFILE": "no-such-profile"}).process)
    assert wrong.wait() != 0
    assert "MODELFIT_PROFILE" in wrong.output()


def test_a_program_that_ends_by_itself_leaves_its_output(programs: Callable[[Process], Process]) -> None:
    usage = programs(modelfit("help", "--help", environment={"PATH": os.environ["PATH"]}))
    assert usage.wait() == 0
    assert "usage" in usage.output().lower()


def test_hardware_outlives_the_namespace_that_used_it(inventory: Inventory, namespace: Namespace) -> None:
    """The order in which the fixtures end: pods first, so that no node disappears under them."""
    node = inventory.node()
    namespace.create(pod("a"))
    assert namespace.wait_bound("a")["spec"]["nodeName"] == node
    namespace.close()
    assert namespace.api.list("/api/v1/nodes")[0]["metadata"]["name"] == node
    with pytest.raises(Exception, match="not found"):
        namespace.api.get(namespace.path("Pod", "a"))
