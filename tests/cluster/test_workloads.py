"""End to end: each pod of an annotated workload gets a claim and a large enough device; claims are cleaned up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.api import JsonObject
from testbed.claims import allocated
from testbed.controllers import LONG_TESTS, Controller, running_webhook_and_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED, create_all, managed_claims, owner_uids, wait_each_pod_has_its_claim
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.pods import cron_job, deployment, job, pod, stateful_set
from testbed.waiting import consistently, wait_for
from tests.vendors import amd, example, nvidia, tpu

pytestmark = pytest.mark.cluster

LARGE = ("gpu-large-0", "gpu-large-1", "gpu-large-2")


@pytest.fixture
def devices(inventory: Inventory) -> str:
    """A node with three devices that fit, among devices that do not: too small, of unknown memory, another driver's."""
    inventory.install(*nvidia.CLASSES, *example.CLASSES, *amd.CLASSES, *tpu.CLASSES)
    return inventory.node(
        nvidia.gpu("gpu-small", "4Gi"),
        nvidia.gpu("gpu-unknown", None),
        nvidia.gpu(LARGE[0], "8Gi"),
        nvidia.vfio("gpu-vfio"),
        nvidia.gpu(LARGE[1], "24Gi"),
        nvidia.mig("gpu-mig", "40Gi"),
        nvidia.gpu(LARGE[2], "81559Mi"),
        example.gpu("other-0"),
        amd.gpu("other-1"),
        tpu.chip("other-2"),
    )


@pytest.fixture(scope="module")
def cluster(controlplane: ControlPlane) -> Iterator[Controller]:
    with running_webhook_and_controller(controlplane) as controller:
        yield controller


def wait_for_devices(namespace: Namespace, count: int) -> None:
    """Waits for `count` bound pods, each with its own claim and its own device that is large enough."""
    wait_for(f"{count} pods exist", namespace.pods, lambda pods: len(pods) == count)
    for made in namespace.pods():
        namespace.wait_bound(made["metadata"]["name"])
    claims = wait_each_pod_has_its_claim(namespace)
    taken = [device for claim in claims for device in allocated(claim)]
    assert {device.driver for device in taken} == {nvidia.DRIVER}
    assert {device.device for device in taken} <= set(LARGE)
    assert len(set(taken)) == len(taken) == count


WORKLOADS = {
    "Pod": (pod("llama", annotations=ANNOTATED), 1),
    "Deployment": (deployment("llama", 3, ANNOTATED), 3),
    "StatefulSet": (stateful_set("llama", 3, ANNOTATED), 3),
    "Job": (job("llama", ANNOTATED), 1),
}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_each_pod_of_a_workload_gets_its_own_claim_and_a_device_that_is_large_enough(
    kind: str, cluster: Controller, namespace: Namespace, devices: str
) -> None:
    manifest, pods = WORKLOADS[kind]
    namespace.create(manifest)
    wait_for_devices(namespace, pods)


def test_a_cron_job_gets_a_claim_for_each_run(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace, devices: str
) -> None:
    namespace.create(cron_job("nightly", ANNOTATED))
    if LONG_TESTS:
        # The CronJob controller starts it at the next full minute.
        wait_for("the CronJob has run", namespace.pods, timeout=90)
    else:
        controlplane.kubectl("create", "job", "run", "--from=cronjob/nightly", f"--namespace={namespace.name}").ok()
    wait_for("a pod exists", namespace.pods)
    wait_for_devices(namespace, len(namespace.pods()))
    namespace.api.delete(namespace.path("CronJob", "nightly"))


def test_a_device_without_memory_does_not_abort_scheduling(
    cluster: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    """The first device publishes no memory: an unguarded selector would fail on it."""
    inventory.install(*nvidia.CLASSES)
    inventory.node(nvidia.gpu("gpu-0", None), nvidia.gpu("gpu-1", "8Gi"))
    namespace.create(pod("llama", annotations=ANNOTATED))
    namespace.wait_bound("llama")
    assert [device.device for claim in namespace.claims() for device in allocated(claim)] == ["gpu-1"]


def test_a_pod_that_fits_nowhere_stays_pending_without_a_device(
    cluster: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    inventory.install(*nvidia.CLASSES, *example.CLASSES)
    inventory.node(nvidia.gpu("gpu-0", "8191Mi"), nvidia.gpu("gpu-1", None), example.gpu("gpu-2"))
    namespace.create(pod("llama", annotations=ANNOTATED))
    (claim,) = wait_each_pod_has_its_claim(namespace)
    wait_for(
        "the scheduler has tried the pod",
        lambda: namespace.pod("llama")["status"].get("conditions", []),
        lambda conditions: any(condition.get("reason") == "Unschedulable" for condition in conditions),
    )
    assert allocated(claim) == []
    assert "CEL" not in str(namespace.pod("llama")["status"])


def test_the_claim_is_deleted_with_its_pod(cluster: Controller, namespace: Namespace, devices: str) -> None:
    namespace.create(pod("llama", annotations=ANNOTATED))
    wait_for_devices(namespace, 1)
    namespace.delete_pod("llama")
    namespace.wait_claims(0)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_the_claim_is_deleted_when_its_pod_completes(
    phase: str, cluster: Controller, namespace: Namespace, devices: str
) -> None:
    namespace.create(job("llama", ANNOTATED))
    wait_for_devices(namespace, 1)
    (made,) = namespace.pods()
    namespace.set_phase(made["metadata"]["name"], phase)
    namespace.wait_claims(0)
    # The controller creates no claim for a completed pod.
    consistently("no claim is created again", namespace.claims, lambda claims: not claims, seconds=2)
    assert namespace.pod(made["metadata"]["name"])["status"]["phase"] == phase


def test_five_rollouts_leave_as_many_claims_as_pods(
    cluster: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    inventory.install(*nvidia.CLASSES)
    inventory.node(*(nvidia.gpu(f"gpu-{number}") for number in range(8)))
    namespace.create(deployment("llama", 3, ANNOTATED))
    for rollout in range(1, 6):
        annotations = {"rollout": str(rollout)}
        change = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
        namespace.api.patch(namespace.path("Deployment", "llama"), change)
        wait_for(f"rollout {rollout} is complete", lambda: rolled_out(namespace), timeout=60)
        pods = namespace.pods()
        assert [made["metadata"]["annotations"]["rollout"] for made in pods] == [str(rollout)] * 3
    wait_each_pod_has_its_claim(namespace)
    assert sorted(owner_uids(namespace.claims())) == sorted(made["metadata"]["uid"] for made in namespace.pods())


def rolled_out(namespace: Namespace) -> bool:
    """Acts as the kubelets once. Whether the Deployment then has exactly its three new pods."""
    for made in namespace.pods():
        if made["spec"].get("nodeName") and made["status"]["phase"] == "Pending":
            namespace.set_phase(made["metadata"]["name"], "Running")
    namespace.finish_deletions()
    deployed: JsonObject = namespace.api.get(namespace.path("Deployment", "llama"))
    status = deployed["status"]
    return (
        status.get("observedGeneration") == deployed["metadata"]["generation"]
        and status.get("updatedReplicas") == status.get("availableReplicas") == status.get("replicas") == 3
        and len(namespace.pods()) == 3
    )


def test_replicas_never_share_a_claim(cluster: Controller, namespace: Namespace) -> None:
    made = create_all(namespace, [pod(generate_name="llama-", annotations=ANNOTATED)] * 40)
    wait_each_pod_has_its_claim(namespace)
    names = {each["metadata"]["annotations"]["llmfit.ai/claim"] for each in made}
    assert len(names) == len(managed_claims(namespace)) == 40
