"""Events on pods about what only the stored pod shows: a memory limit that is too low, a second device, a lost fit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.api import JsonObject
from testbed.controllers import Controller, running_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED, injected_pod, managed_claims
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.pods import deployment, pod
from testbed.programs import webhook_server
from testbed.waiting import consistently, wait_for
from testbed.webhooks import registered
from tests.vendors import nvidia

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def cluster(controlplane: ControlPlane) -> Iterator[Controller]:
    """A webhook, and a controller that scans every second."""
    server = webhook_server()
    environment = {"MODELFIT_UNINJECTED_SCAN_SECONDS": "1"}
    try:
        server.start()
        with (
            registered(controlplane, server.url, server.files.ca.read_bytes()),
            running_controller(controlplane, environment=environment) as started,
        ):
            yield started
    finally:
        server.process.kill()


def test_a_memory_limit_below_what_the_model_needs_is_reported_once(cluster: Controller, namespace: Namespace) -> None:
    """A LimitRange sets it, after the check of the Deployment."""
    limits = [{"type": "Container", "default": {"memory": "512Mi"}, "defaultRequest": {"memory": "256Mi"}}]
    limit_range: JsonObject = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "defaults"}}
    namespace.create({**limit_range, "spec": {"limits": limits}})
    namespace.create(deployment("vllm", 1, ANNOTATED))
    (event,) = wait_for("the pod has its Event", lambda: namespace.events(reason="MemoryLimitTooLow"))
    assert 'memory limit is "512Mi", less than the 12Gi that the model needs' in event["message"]
    (made,) = namespace.pods()
    assert event["involvedObject"]["uid"] == made["metadata"]["uid"]
    # A later change of the pod does not repeat it.
    namespace.api.patch(namespace.path("Pod", made["metadata"]["name"]), {"metadata": {"labels": {"a": "b"}}})
    counts = lambda: [each["count"] for each in namespace.events(reason="MemoryLimitTooLow")]  # noqa: E731
    consistently("there is one Event", counts, lambda found: found == [1], seconds=2)
    assert len(managed_claims(namespace)) == 1


@pytest.mark.parametrize("limit", ["12Gi", "16Gi"])
def test_a_sufficient_memory_limit_is_not_reported(limit: str, cluster: Controller, namespace: Namespace) -> None:
    manifest = pod("llama", containers=("app", "proxy"), annotations={**ANNOTATED, "llmfit.ai/containers": "app"})
    for container, amount in zip(manifest["spec"]["containers"], (limit, "64Mi"), strict=True):
        container["resources"] = {"limits": {"memory": amount}}
    namespace.create(manifest)
    namespace.wait_claims(1)
    consistently("there is no Event", lambda: namespace.events(reason="MemoryLimitTooLow"), lambda x: not x, seconds=1)


def test_a_copy_that_waits_for_the_claim_of_a_pod_that_is_gone_is_reported(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    inventory.install(*nvidia.CLASSES)
    inventory.node(nvidia.gpu("gpu-0"))
    namespace.create(pod("llama", annotations=ANNOTATED))
    namespace.wait_bound("llama")
    copy = ("debug", "llama", "--image=registry.invalid/shell:1", f"--namespace={namespace.name}")
    controlplane.kubectl(*copy, "--copy-to=shared").ok()
    consistently("a shared claim is no fault", lambda: namespace.events(name="shared", reason="ModelFitMissing"),
                 lambda events: not events, seconds=3)  # fmt: skip
    namespace.delete_pod("shared")
    namespace.set_phase("llama", "Failed")
    namespace.wait_claims(0)
    controlplane.kubectl(*copy, "--copy-to=lost").ok()
    (event,) = wait_for("the copy has its Event", lambda: namespace.events(name="lost", reason="ModelFitMissing"))
    assert "--keep-annotations" in event["message"]
    assert "annotations" not in namespace.pod("lost")["metadata"]
    # With its label it is watched, and not scanned.
    labelled = injected_pod("labelled")
    del labelled["metadata"]["annotations"]
    namespace.create(labelled)
    wait_for("the labelled copy has its Event", lambda: namespace.events(name="labelled", reason="ModelFitMissing"))
    assert namespace.claims() == []


def device_class(name: str, resource: str, expression: str) -> JsonObject:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"extendedResourceName": resource, "selectors": [{"cel": {"expression": expression}}]},
    }


def test_an_extended_resource_that_a_device_class_maps_to_the_same_devices_is_reported(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    inventory.install(*nvidia.CLASSES)
    driver = 'device.driver == "{}"'
    classes = [
        device_class("mapped.example.com", "example.com/gpu", driver.format("gpu.nvidia.com")),
        device_class("nic.example.com", "example.com/nic", driver.format("nic.example.com")),
    ]
    for each in classes:
        controlplane.api().create(each)
    try:
        for name, resource in (("gpu", "example.com/gpu"), ("nic", "example.com/nic")):
            manifest = pod(name, annotations=ANNOTATED)
            manifest["spec"]["containers"][0]["resources"] = {"limits": {resource: "1"}}
            namespace.create(manifest)
        (event,) = wait_for(
            "the pod has its Event", lambda: namespace.events(name="gpu", reason="DuplicateDeviceRequest")
        )
        assert 'requests "example.com/gpu" beside its ResourceClaim' in event["message"]
        namespace.wait_claims(2)
        consistently("the other has none", lambda: namespace.events(name="nic", reason="DuplicateDeviceRequest"),
                     lambda events: not events, seconds=1)  # fmt: skip
    finally:
        for each in classes:
            controlplane.api().delete(f"/apis/resource.k8s.io/v1/deviceclasses/{each['metadata']['name']}")
