"""The control plane itself: what every other cluster test relies on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import workspace
from testbed.api import ApiError, JsonObject, UnreachableError
from testbed.claims import AllocatedDevice, allocated, at_least, claim, request
from testbed.controlplane import ControlPlane
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.nodes import create_node, is_ready
from testbed.paths import path
from testbed.pods import pod
from testbed.programs import REPOSITORY
from testbed.rbac import grant
from testbed.servers import Options
from testbed.waiting import consistently, wait_for
from tests.vendors import example, nvidia

pytestmark = pytest.mark.cluster

LARGE_ENOUGH = request(nvidia.DRIVER, at_least(nvidia.DRIVER, "8Gi"))


@pytest.fixture
def large_gpu(inventory: Inventory) -> AllocatedDevice:
    """The only device that fits, after three that do not: too small, without memory, another driver's."""
    inventory.install(*nvidia.CLASSES, *example.CLASSES)
    too_small, unreadable = nvidia.gpu("gpu-0", "4Gi"), nvidia.gpu("gpu-1", None)
    node = inventory.node(too_small, unreadable, example.gpu("gpu-2"), nvidia.gpu("gpu-3", "40Gi"))
    return AllocatedDevice(nvidia.DRIVER, node, "gpu-3")


def pod_with_claim(namespace: Namespace, name: str) -> JsonObject:
    """Creates a pod that owns a claim and waits until it is bound. Returns the claim."""
    owner = namespace.create(pod(name, claims={"gpu": f"{name}-claim"}))
    namespace.create(claim(f"{name}-claim", LARGE_ENOUGH, owner=owner))
    namespace.wait_bound(name)
    return namespace.api.get(namespace.path("ResourceClaim", f"{name}-claim"))


def test_server_and_kubectl_report_the_version_that_was_built(controlplane: ControlPlane) -> None:
    version = controlplane.api().get("/version")["gitVersion"]
    assert version.startswith("v1.")
    assert version in controlplane.kubectl("version", "--client").ok().stdout


@pytest.mark.parametrize("end", ["deleted", "succeeded"])
def test_a_claim_is_allocated_and_deleted_with_its_pod(
    namespace: Namespace, large_gpu: AllocatedDevice, end: str
) -> None:
    assert allocated(pod_with_claim(namespace, "a")) == [large_gpu]
    assert namespace.pod("a")["spec"]["nodeName"] == large_gpu.pool
    namespace.set_phase("a", "Running")
    consistently("the running pod keeps its claim", namespace.claims, lambda claims: len(claims) == 1, seconds=2)
    if end == "deleted":
        namespace.delete_pod("a")
    else:
        namespace.set_phase("a", "Succeeded")
    namespace.wait_claims(0)


def test_options_reach_the_servers(make_controlplane: Callable[[Options], ControlPlane]) -> None:
    """API versions, feature gates and flags; and nodes stay ready, which a node lifecycle controller would end within
    the time watched here."""
    only_v1beta1 = {"resource.k8s.io/v1": False, "resource.k8s.io/v1beta2": False, "resource.k8s.io/v1beta1": True}
    plane = make_controlplane(
        Options(
            runtime_config=only_v1beta1,
            feature_gates={"DRAConsumableCapacity": False},
            controller_manager_flags=("--node-monitor-period=500ms", "--node-monitor-grace-period=2s"),
        )
    )
    api = plane.api()
    create_node(api, "node-a")
    assert [each["version"] for each in api.get("/apis/resource.k8s.io")["versions"]] == ["v1beta1"]
    inventory, namespace = Inventory(api, "v1beta1"), Namespace(api, version="v1beta1")
    inventory.install(*nvidia.CLASSES)
    node = inventory.node(nvidia.gpu("gpu-0", None), nvidia.gpu("gpu-1", "40Gi"))
    owner = namespace.create(pod("a", claims={"gpu": "a-claim"}))
    namespace.create(claim("a-claim", LARGE_ENOUGH, owner=owner, version="v1beta1"))
    shared = request(nvidia.DRIVER, capacity={"memory": "8Gi"})
    created = namespace.create(claim("b-claim", shared, version="v1beta1"))
    assert "capacity" not in created["spec"]["devices"]["requests"][0]
    consistently("node-a is ready", lambda: is_ready(api, "node-a"), seconds=6)

    plane.stop_apiserver()
    plane.start_apiserver(runtime_config={"resource.k8s.io/v1": True})
    # The scheduler of this release reads v1 only.
    plane.scheduler.restart()
    namespace.wait_bound("a")
    found = api.get(path("ResourceClaim", namespace.name, "a-claim"))
    assert found["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] == nvidia.DRIVER
    assert allocated(found) == [AllocatedDevice(nvidia.DRIVER, node, "gpu-1")]


def test_the_api_server_comes_back_with_its_data(make_controlplane: Callable[[Options], ControlPlane]) -> None:
    plane = make_controlplane(Options())
    namespace, inventory = Namespace(plane.api()), Inventory(plane.api())
    inventory.install(*nvidia.CLASSES)
    inventory.node(nvidia.gpu("gpu-0", "40Gi"))
    before = pod_with_claim(namespace, "a")
    for kill in (False, True):
        plane.stop_apiserver(kill=kill)
        with pytest.raises(UnreachableError):
            namespace.claims()
        plane.start_apiserver()
        (after,) = namespace.claims()
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert allocated(after) == allocated(before) != []
    namespace.delete_pod("a")
    # kube-controller-manager has reconnected, too.
    namespace.wait_claims(0, timeout=60)


def test_a_service_account_has_the_granted_permissions_and_no_others(
    controlplane: ControlPlane, namespace: Namespace
) -> None:
    user = f"system:serviceaccount:{namespace.name}:reader"
    pods, claims = namespace.path("Pod"), namespace.path("ResourceClaim")
    with pytest.raises(ApiError, match=r"403 Forbidden.*cannot list resource \"pods\""):
        controlplane.api(user).list(pods)
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    grant(controlplane.api(), user, rules, name=namespace.name)
    wait_for("the grant is in effect", lambda: controlplane.api(user).list(pods) == [])
    with pytest.raises(ApiError, match="403 Forbidden"):
        controlplane.api(user).list(claims)
    denied = controlplane.kubectl("auth", "can-i", "list", "secrets", user=user)
    assert (denied.stdout.strip(), denied.returncode) == ("no", 1)


def test_clearing_an_inventory_deletes_everything(controlplane: ControlPlane) -> None:
    inventory = Inventory(controlplane.api())
    inventory.install(*nvidia.CLASSES)
    inventory.node(nvidia.gpu("gpu-0"))
    inventory.clear()
    for kind in ("Node", "ResourceSlice", "DeviceClass"):
        assert controlplane.api().list(path(kind)) == []


def test_a_killed_test_process_leaves_no_server_and_the_next_sweep_removes_its_folder() -> None:
    code = (
        "from testbed import controlplane, workspace\n"
        "with controlplane.ControlPlane() as plane:\n"
        "    print(workspace.current().root, *[process.pid for process in plane.processes()], flush=True)\n"
        "    input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as victim:
        assert victim.stdout is not None
        folder, *pids = victim.stdout.readline().split()
        assert sorted(workspace.running_for(Path(folder))) == sorted(int(pid) for pid in pids)
        assert len(pids) == 4
        os.kill(victim.pid, signal.SIGKILL)
    wait_for("no server is left", lambda: workspace.running_for(Path(folder)), lambda pids: not pids, timeout=10)
    workspace.sweep()
    assert not Path(folder).exists()


def test_a_server_that_cannot_start_reports_why(make_controlplane: Callable[[Options], ControlPlane]) -> None:
    with pytest.raises(Exception, match="unknown flag: --no-such-flag"):
        make_controlplane(Options(apiserver_flags=["--no-such-flag"]))
