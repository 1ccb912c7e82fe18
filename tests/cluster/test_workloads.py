"""The whole way: an annotated workload in, a claim and a large enough device for each of its pods, no leftovers."""

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
    """A node with three devices on which the model fits, behind and among those on which it does not: too small, of
    unknown memory, of other drivers."""
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
    with running_webhook_and_controller(controlplane) as ours:
        yield ours


def with_devices(namespace: Namespace, count: int) -> None:
    """Waits for so many pods, each bound, each with its own claim on a device of its own that is large enough."""
    wait_for(f"{count} pods are there", namespace.pods, lambda pods: len(pods) == count)
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
    with_devices(namespace, pods)


def test_a_cron_job_gets_a_claim_for_each_run(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace, devices: str
) -> None:
    namespace.create(cron_job("nightly", ANNOTATED))
    if LONG_TESTS:
        # Its own controller starts it at the next full minute.
        wait_for("the CronJob has run", namespace.pods, timeout=90)
    else:
        controlplane.kubectl("create", "job", "run", "--from=cronjob/nightly", f"--namespace={namespace.name}").ok()
    wait_for("a pod is there", namespace.pods)
    with_devices(namespace, len(namespace.pods()))
    namespace.api.delete(namespace.path("CronJob", "nightly"))


def test_a_device_that_would_break_scheduling_breaks_nothing(
    cluster: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    """The first device that the scheduler looks at publishes no memory: a selector without a guard ends right there."""
    inventory.install(*nvidia.CLASSES)
    inventory.node(nvidia.gpu("gpu-0", None), nvidia.gpu("gpu-1", "8Gi"))
    namespace.create(pod("llama", annotations=ANNOTATED))
    namespace.wait_bound("llama")
    assert [device.device for claim in namespace.claims() for device in allocated(claim)] == ["gpu-1"]


def test_a_pod_that_fits_nowhere_waits_and_takes_no_device(
    cluster: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    inventory.install(*nvidia.CLASSES, *example.CLASSES)
    inventory.node(nvidia.gpu("gpu-0", "8191Mi"), nvidia.gpu("gpu-1", None), example.gpu("gpu-2"))
    namespace.create(pod("llama", annotations=ANNOTATED))
    (claim,) = wait_each_pod_has_its_claim(namespace)
    wait_for(
        "the scheduler has looked at the pod",
        lambda: namespace.pod("llama")["status"].get("conditions", []),
        lambda conditions: any(condition.get("reason") == "Unschedulable" for condition in conditions),
    )
    assert allocated(claim) == []
    assert "CEL" not in str(namespace.pod("llama")["status"])


def test_the_claim_goes_away_when_its_pod_is_deleted(cluster: Controller, namespace: Namespace, devices: str) -> None:
    namespace.create(pod("llama", annotations=ANNOTATED))
    with_devices(namespace, 1)
    namespace.delete_pod("llama")
    namespace.wait_claims(0)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_the_claim_goes_away_when_its_pod_is_finished(
    phase: str, cluster: Controller, namespace: Namespace, devices: str
) -> None:
    namespace.create(job("llama", ANNOTATED))
    with_devices(namespace, 1)
    (made,) = namespace.pods()
    namespace.set_phase(made["metadata"]["name"], phase)
    namespace.wait_claims(0)
    # The controller does not make another one for a pod that has ended.
    consistently("no claim comes back", namespace.claims, lambda claims: not claims, seconds=2)
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
        wait_for(f"rollout {rollout} is through", lambda: rolled_out(namespace), timeout=60)
        pods = namespace.pods()
        assert [made["metadata"]["annotations"]["rollout"] for made in pods] == [str(rollout)] * 3
    wait_each_pod_has_its_claim(namespace)
    assert sorted(owner_uids(namespace.claims())) == sorted(made["metadata"]["uid"] for made in namespace.pods())


def rolled_out(namespace: Namespace) -> bool:
    """Plays the kubelets for a moment; whether the Deployment is then at rest with its three new pods."""
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
