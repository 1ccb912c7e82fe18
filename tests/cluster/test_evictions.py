"""Evicted pods and drained nodes: the replacement gets a claim and a device of its own, and the old claim is deleted.

Descheduler, VPA and `kubectl drain` evict pods through the Eviction API. Reports: claims that outlive their pods keep
the device from the replacement (Project-HAMi/HAMi-DRA#21); users ask that pods with claims are evicted as others are
(kubernetes-sigs/descheduler PR #1603); devices of a node that is being drained (kubernetes-sigs/
kernel-module-management PR #1329).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.api import JsonObject
from testbed.claims import allocated
from testbed.controllers import Controller, running_webhook_and_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED, wait_each_pod_has_its_claim
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.paths import path
from testbed.pods import deployment, job, pod, stateful_set
from testbed.waiting import wait_for
from tests.vendors import nvidia

pytestmark = pytest.mark.cluster

GATE = "example.com/hold"


@pytest.fixture(scope="module")
def cluster(controlplane: ControlPlane) -> Iterator[Controller]:
    with running_webhook_and_controller(controlplane) as controller:
        yield controller


def evict(namespace: Namespace, name: str) -> None:
    """Evicts a pod, and ends it as its kubelet does."""
    eviction: JsonObject = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace.name},
    }
    namespace.api.post(namespace.path("Pod", name, "eviction"), eviction)
    namespace.finish_deletions()


def cordon(namespace: Namespace, node: str) -> None:
    namespace.api.patch(path("Node", None, node), {"spec": {"unschedulable": True}})


WORKLOADS = {
    "Deployment": deployment("llama", 1, ANNOTATED),
    "StatefulSet": stateful_set("llama", 1, ANNOTATED),
    "Job": job("llama", ANNOTATED),
}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_the_replacement_of_an_evicted_pod_gets_the_only_device_with_a_claim_of_its_own(
    kind: str, cluster: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    """A StatefulSet's replacement has the name of the evicted pod. A Job makes one only if it has retries."""
    inventory.install(*nvidia.CLASSES)
    inventory.node(nvidia.gpu("gpu-0"))
    manifest = WORKLOADS[kind]
    namespace.create(manifest | {"spec": manifest["spec"] | {"backoffLimit": 1}} if kind == "Job" else manifest)
    evicted, first = wait_pod_with_the_device(namespace, not_uid="")
    namespace.set_phase(evicted["name"], "Running")
    evict(namespace, evicted["name"])
    _, second = wait_pod_with_the_device(namespace, not_uid=evicted["uid"])
    assert first["uid"] != second["uid"]
    assert first["name"] != second["name"]


def wait_pod_with_the_device(namespace: Namespace, *, not_uid: str) -> tuple[JsonObject, JsonObject]:
    """Waits for the only pod, which is another one than `not_uid`, and its claim. Returns the metadata of both."""
    (made,) = wait_for("a pod exists", namespace.pods, lambda pods: pods and pods[0]["metadata"]["uid"] != not_uid)
    namespace.wait_bound(made["metadata"]["name"])
    (claim,) = wait_each_pod_has_its_claim(namespace)
    assert [device.device for device in allocated(claim)] == ["gpu-0"]
    return made["metadata"], claim["metadata"]


def test_pods_leave_a_node_that_is_drained_while_their_claims_are_allocated(
    cluster: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    inventory.install(*nvidia.CLASSES)
    drained = inventory.node(*(nvidia.gpu(f"gpu-{number}") for number in range(8)))
    namespace.create(deployment("llama", 6, ANNOTATED))
    wait_for("the first pod is bound", lambda: [each for each in namespace.pods() if each["spec"].get("nodeName")])
    cordon(namespace, drained)
    kept = inventory.node(*(nvidia.gpu(f"gpu-{number}") for number in range(6)))

    def moved() -> bool:
        for each in namespace.pods():
            if each["spec"].get("nodeName") == drained and "deletionTimestamp" not in each["metadata"]:
                evict(namespace, each["metadata"]["name"])
        namespace.finish_deletions()
        return [each["spec"].get("nodeName") for each in namespace.pods()] == [kept] * 6

    wait_for("all pods run on the other node", moved, timeout=60)
    devices = [device for claim in wait_each_pod_has_its_claim(namespace) for device in allocated(claim)]
    assert {device.pool for device in devices} == {kept}
    assert len(set(devices)) == len(devices) == 6


def test_a_claim_that_is_allocated_on_a_drained_node_is_allocated_again_on_another(
    cluster: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    """The state between allocation and binding: a scheduling gate holds the pod while the test writes the allocation
    that the scheduler would have written before the node was cordoned."""
    inventory.install(*nvidia.CLASSES)
    drained = inventory.node(nvidia.gpu("gpu-0"))
    namespace.create(pod("llama", annotations=ANNOTATED, schedulingGates=[{"name": GATE}]))
    (claim,) = wait_each_pod_has_its_claim(namespace)
    (request,) = claim["spec"]["devices"]["requests"]
    result = {"request": request["name"], "driver": nvidia.DRIVER, "pool": drained, "device": "gpu-0"}
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [drained]}]}]
    allocation = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": terms}}
    location = namespace.path("ResourceClaim", claim["metadata"]["name"])
    namespace.api.patch(location, {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}})
    namespace.api.patch(f"{location}/status", {"status": {"allocation": allocation}})
    cordon(namespace, drained)
    kept = inventory.node(nvidia.gpu("gpu-0"))
    namespace.api.patch(namespace.path("Pod", "llama"), {"spec": {"schedulingGates": []}})
    assert namespace.wait_bound("llama")["spec"]["nodeName"] == kept
    (claim,) = wait_each_pod_has_its_claim(namespace)
    assert [device.pool for device in allocated(claim)] == [kept]
