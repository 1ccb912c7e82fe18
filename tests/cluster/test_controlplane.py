"""The test bed itself: what every other cluster test takes for granted."""

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
from testbed.devices import Device
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.nodes import create_node, is_ready
from testbed.paths import path
from testbed.pods import deployment, pod
from testbed.rbac import grant
from testbed.servers import Options
from testbed.waiting import consistently, wait_for
from tests.vendors import example, hami, llmfit, nvidia

pytestmark = pytest.mark.cluster

LARGE_ENOUGH = request(nvidia.DRIVER, at_least(nvidia.DRIVER, "8Gi"))


@pytest.fixture
def large_gpu(inventory: Inventory) -> AllocatedDevice:
    """A node on which one device will do, behind three that won't: too small, without memory, another driver's."""
    inventory.install(*nvidia.CLASSES, *example.CLASSES)
    too_small, unknown = nvidia.gpu("gpu-0", "4Gi"), nvidia.gpu("gpu-1", None)
    node = inventory.node(too_small, unknown, example.gpu("gpu-2"), nvidia.gpu("gpu-3", "40Gi"))
    return AllocatedDevice(nvidia.DRIVER, node, "gpu-3")


def pod_with_claim(namespace: Namespace, name: str) -> JsonObject:
    """A pod, bound, with a claim that it owns and that the scheduler has allocated; the claim."""
    owner = namespace.create(pod(name, claims={"gpu": f"{name}-claim"}))
    namespace.create(claim(f"{name}-claim", LARGE_ENOUGH, owner=owner))
    namespace.wait_bound(name)
    return namespace.api.get(namespace.path("ResourceClaim", f"{name}-claim"))


def test_the_binaries_say_which_kubernetes_they_are(controlplane: ControlPlane) -> None:
    version = controlplane.api().get("/version")
    assert version["gitVersion"].startswith("v1.")
    client = controlplane.kubectl("version", "--client").ok().stdout
    assert version["gitVersion"] in client


def test_a_claim_is_allocated_the_one_device_that_will_do(namespace: Namespace, large_gpu: AllocatedDevice) -> None:
    assert allocated(pod_with_claim(namespace, "a")) == [large_gpu]
    assert namespace.pod("a")["spec"]["nodeName"] == large_gpu.pool


def test_a_claim_goes_away_when_its_pod_is_deleted(namespace: Namespace, large_gpu: AllocatedDevice) -> None:
    pod_with_claim(namespace, "a")
    namespace.delete_pod("a")
    namespace.wait_claims(0)


def test_a_claim_goes_away_when_its_pod_succeeds(namespace: Namespace, large_gpu: AllocatedDevice) -> None:
    pod_with_claim(namespace, "a")
    namespace.set_phase("a", "Succeeded")
    namespace.wait_claims(0)
    assert namespace.pod("a")["status"]["phase"] == "Succeeded"


def test_a_claim_stays_while_its_pod_runs(namespace: Namespace, large_gpu: AllocatedDevice) -> None:
    pod_with_claim(namespace, "a")
    namespace.set_phase("a", "Running")
    consistently("the claim of a running pod exists", namespace.claims, lambda claims: len(claims) == 1, seconds=2)


def test_a_rollout_leaves_pods_for_the_test_to_end(namespace: Namespace, inventory: Inventory) -> None:
    inventory.node()
    namespace.create(deployment("web", 2))
    first = wait_for("two pods are there", namespace.pods, lambda pods: len(pods) == 2)
    for made in first:
        namespace.wait_bound(made["metadata"]["name"])
        namespace.set_phase(made["metadata"]["name"], "Running")
    change = {"spec": {"template": {"metadata": {"annotations": {"rollout": "2"}}}}}
    namespace.api.patch(namespace.path("Deployment", "web"), change)

    def only_new_pods() -> bool:
        for made in namespace.pods():
            if made["spec"].get("nodeName") and made["status"]["phase"] == "Pending":
                namespace.set_phase(made["metadata"]["name"], "Running")
        namespace.finish_deletions()
        return {made["metadata"].get("annotations", {}).get("rollout") for made in namespace.pods()} == {"2"}

    wait_for("only pods of the second generation are left", only_new_pods)


def test_nodes_stay_ready_without_a_kubelet(make_controlplane: Callable[[Options], ControlPlane]) -> None:
    # So short that a node lifecycle controller, if it ran, would give the node up well within the time watched here.
    impatient = ("--node-monitor-period=500ms", "--node-monitor-grace-period=2s")
    plane = make_controlplane(Options(controller_manager_flags=impatient))
    create_node(plane.api(), "node-a")
    consistently("node-a is ready", lambda: is_ready(plane.api(), "node-a"), seconds=6)


def test_only_the_api_versions_asked_for_are_served(make_controlplane: Callable[[Options], ControlPlane]) -> None:
    only_v1beta1 = {"resource.k8s.io/v1": False, "resource.k8s.io/v1beta2": False, "resource.k8s.io/v1beta1": True}
    plane = make_controlplane(Options(runtime_config=only_v1beta1))
    api = plane.api()
    group = api.get("/apis/resource.k8s.io")
    assert [version["version"] for version in group["versions"]] == ["v1beta1"]
    inventory = Inventory(api, "v1beta1")
    inventory.install(*nvidia.CLASSES, *hami.CLASSES, *llmfit.CLASSES)
    node = inventory.node(nvidia.gpu("gpu-0", None), nvidia.gpu("gpu-1", "40Gi"))
    namespace = Namespace(api, version="v1beta1")
    owner = namespace.create(pod("a", claims={"gpu": "a-claim"}))
    namespace.create(claim("a-claim", LARGE_ENOUGH, owner=owner, version="v1beta1"))
    assert namespace.claims()[0]["spec"]["devices"]["requests"][0]["deviceClassName"] == nvidia.DRIVER

    plane.stop_apiserver()
    plane.start_apiserver(runtime_config={"resource.k8s.io/v1": True})
    # The scheduler of this release reads v1 only.
    plane.scheduler.restart()
    namespace.wait_bound("a")
    found = api.get(path("ResourceClaim", namespace.name, "a-claim"))
    assert found["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] == nvidia.DRIVER
    assert allocated(found) == [AllocatedDevice(nvidia.DRIVER, node, "gpu-1")]


def test_feature_gates_reach_the_api_server(make_controlplane: Callable[[Options], ControlPlane]) -> None:
    plane = make_controlplane(Options(feature_gates={"DRAConsumableCapacity": False}))
    namespace = Namespace(plane.api())
    shared = request(nvidia.DRIVER, capacity={"memory": "8Gi"})
    made = namespace.create(claim("a", shared))
    assert "capacity" not in made["spec"]["devices"]["requests"][0]["exactly"]


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_the_api_server_comes_back_with_its_data(
    make_controlplane: Callable[[Options], ControlPlane], kill: bool
) -> None:
    plane = make_controlplane(Options())
    namespace, inventory = Namespace(plane.api()), Inventory(plane.api())
    inventory.install(*nvidia.CLASSES)
    inventory.node(nvidia.gpu("gpu-0", "40Gi"))
    before = pod_with_claim(namespace, "a")
    plane.stop_apiserver(kill=kill)
    with pytest.raises(UnreachableError):
        namespace.claims()
    plane.start_apiserver()
    (after,) = namespace.claims()
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert allocated(after) == allocated(before) != []
    namespace.delete_pod("a")
    # The other servers have found it again as well.
    namespace.wait_claims(0, timeout=60)


def test_a_service_account_may_do_what_it_was_granted_and_no_more(
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


def test_a_user_that_was_not_declared_is_an_error_that_says_so(controlplane: ControlPlane) -> None:
    with pytest.raises(ValueError, match=r"no user 'alice': name it in Options\.users"):
        controlplane.token("alice")


def test_an_inventory_leaves_nothing(controlplane: ControlPlane) -> None:
    inventory = Inventory(controlplane.api())
    inventory.install(*nvidia.CLASSES)
    inventory.node(nvidia.gpu("gpu-0"))
    inventory.clear()
    for kind in ("Node", "ResourceSlice", "DeviceClass"):
        assert controlplane.api().list(path(kind)) == []


def test_devices_can_be_withdrawn(controlplane: ControlPlane, inventory: Inventory) -> None:
    node = inventory.node(nvidia.gpu("gpu-0"), example.gpu("gpu-1"))
    inventory.withdraw(node, nvidia.DRIVER)
    left = controlplane.api().list(path("ResourceSlice"))
    assert [item["spec"]["driver"] for item in left] == [example.DRIVER]


def test_nothing_is_left_of_a_test_process_that_was_killed() -> None:
    """Neither a server nor, after the next test process has swept, a folder."""
    package = __package__
    assert package is not None
    code = (
        f"from {package} import controlplane, workspace\n"
        "with controlplane.ControlPlane() as plane:\n"
        "    print(workspace.current().root, *[process.pid for process in plane.processes()], flush=True)\n"
        "    input()\n"
    )
    root = Path(__file__).resolve().parents[package.count(".") + 1]
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as victim:
        assert victim.stdout is not None
        folder, *pids = victim.stdout.readline().split()
        assert len(pids) == 4
        assert sorted(workspace.running_for(Path(folder))) == sorted(int(pid) for pid in pids)
        os.kill(victim.pid, signal.SIGKILL)
    wait_for("no server is left", lambda: workspace.running_for(Path(folder)), lambda pids: not pids, timeout=10)
    assert Path(folder).exists()
    workspace.sweep()
    assert not Path(folder).exists()


def test_a_control_plane_that_is_left_is_gone() -> None:
    before = set(workspace.running_for(workspace.current().root))
    with ControlPlane() as plane:
        data = plane.ca.parent
        assert len(set(workspace.running_for(workspace.current().root)) - before) == 4
    assert set(workspace.running_for(workspace.current().root)) == before
    assert not data.exists()


def test_a_server_that_cannot_start_says_why(make_controlplane: Callable[[Options], ControlPlane]) -> None:
    with pytest.raises(Exception, match="unknown flag: --no-such-flag"):
        make_controlplane(Options(apiserver_flags=["--no-such-flag"]))


def test_devices_of_a_hand_made_driver_are_published_as_given(controlplane: ControlPlane, inventory: Inventory) -> None:
    inventory.node(Device("own.test", "dev-0", {"wide": True, "lanes": 16}, {"memory": "1Gi"}))
    (found,) = controlplane.api().list(path("ResourceSlice"))
    assert found["spec"]["devices"] == [
        {
            "name": "dev-0",
            "attributes": {"wide": {"bool": True}, "lanes": {"int": 16}},
            "capacity": {"memory": {"value": "1Gi"}},
        }
    ]
