"""A ResourceQuota on the devices of a DeviceClass: what claims are charged, and rolling updates under it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.api import JsonObject
from testbed.controllers import Controller, running_webhook_and_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.pods import deployment, pod
from testbed.waiting import wait_for
from tests.vendors import nvidia

pytestmark = pytest.mark.cluster

DEVICES = "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"


@pytest.fixture(scope="module")
def cluster(controlplane: ControlPlane) -> Iterator[Controller]:
    with running_webhook_and_controller(controlplane) as controller:
        yield controller


def limit_devices(namespace: Namespace, devices: int) -> None:
    quota: JsonObject = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus"},
        "spec": {"hard": {DEVICES: str(devices)}},
    }
    namespace.create(quota)
    wait_for("the quota is in force", lambda: used(namespace), lambda found: found is not None)


def used(namespace: Namespace) -> str | None:
    quota = namespace.api.get(namespace.path("ResourceQuota", "gpus"))
    charged: str | None = quota.get("status", {}).get("used", {}).get(DEVICES)
    return charged


@pytest.mark.parametrize(
    ("annotations", "charged"),
    [
        ({}, "1"),
        ({"llmfit.ai/device-count": "2"}, "2"),
        ({"llmfit.ai/device-count": "auto"}, "4"),
        ({"llmfit.ai/profile": "nvidia-mig"}, "1"),
    ],
    ids=str,
)
def test_a_claim_is_charged_with_the_largest_number_of_devices(
    annotations: dict[str, str], charged: str, cluster: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    inventory.install(*nvidia.CLASSES)
    limit_devices(namespace, 8)
    fit = '{"model": "m", "min_vram_gb": 18, "supports_tp": [1, 2, 4]}'
    namespace.create(pod("llama", annotations={"llmfit.ai/model-fit": fit, **annotations}))
    namespace.wait_claims(1)
    wait_for("the claim is charged", lambda: used(namespace), lambda found: found == charged)


def test_a_rolling_update_without_surge_completes_under_a_quota_of_its_replicas(
    cluster: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    """`kubectl rollout restart` changes an annotation of the template."""
    inventory.install(*nvidia.CLASSES)
    inventory.node(nvidia.gpu("gpu-0"), nvidia.gpu("gpu-1"))
    limit_devices(namespace, 2)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    manifest = deployment("llama", 2, ANNOTATED)
    namespace.create(manifest | {"spec": manifest["spec"] | {"strategy": rolling}})
    first = wait_bound_pods(namespace, set())
    restart = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}}}
    namespace.api.patch(namespace.path("Deployment", "llama"), {"spec": {"template": restart}})
    assert len(wait_bound_pods(namespace, first)) == 2


def wait_bound_pods(namespace: Namespace, before: set[str]) -> set[str]:
    """Runs the pods that have a node, and ends those that are deleted, until two that are not in `before` are bound.
    Returns their names."""

    def bound() -> set[str]:
        namespace.finish_deletions()
        names = {each["metadata"]["name"] for each in namespace.pods() if each["spec"].get("nodeName")}
        for name in names:
            if namespace.pod(name)["status"].get("phase") == "Pending":
                namespace.set_phase(name, "Running")
        return names

    return wait_for("two new pods are bound", bound, lambda names: len(names) == 2 and not names & before, timeout=90)
