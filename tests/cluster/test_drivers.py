"""Every vendor's devices are such as the API server takes, and its DeviceClasses match what they match in the field."""

from __future__ import annotations

import pytest

from testbed.api import ApiError
from testbed.claims import allocated, at_least, claim, request
from testbed.devices import Device
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.waiting import wait_for
from tests.cluster.drivers import CLASSES, amd, example, gaudi, hami, intel, llmfit, nvidia, tpu

pytestmark = pytest.mark.cluster

ALL = (
    nvidia.gpu("nv-gpu"),
    nvidia.gpu("nv-unknown", None),
    nvidia.mig("nv-mig"),
    nvidia.vfio("nv-vfio"),
    amd.gpu("amd-gpu"),
    amd.partition("amd-part"),
    amd.vfio("amd-vfio"),
    intel.gpu("intel-gpu"),
    intel.gpu("intel-ill", health="Unhealthy"),
    intel.vfio("intel-vfio"),
    gaudi.accelerator("gaudi"),
    tpu.chip("tpu"),
    llmfit.gpu("fit-gpu", bandwidth=1008),
    llmfit.gpu("fit-unknown", None),
    llmfit.gpu("fit-ill", healthy=False),
    llmfit.gpu("fit-vendor", vendor_managed=True),
    llmfit.npu("fit-npu"),
    llmfit.cpu("fit-cpu"),
    llmfit.cpu("fit-cpu-ill", healthy=False),
    llmfit.nic("fit-nic"),
    hami.gpu("hami-gpu"),
    example.gpu("ex-gpu"),
)

MATCHED = {
    "gpu.nvidia.com": {"nv-gpu", "nv-unknown"},
    "mig.nvidia.com": {"nv-mig"},
    "vfio.gpu.nvidia.com": {"nv-vfio"},
    "gpu.amd.com": {"amd-gpu", "amd-part", "amd-vfio"},
    "gpu.intel.com": {"intel-gpu", "intel-ill", "intel-vfio"},
    "gpu-vfio.intel.com": {"intel-gpu", "intel-ill", "intel-vfio"},
    "gaudi.intel.com": {"gaudi"},
    "tpu.google.com": {"tpu"},
    "llmfit.ai": {"fit-gpu", "fit-unknown", "fit-npu", "fit-cpu", "fit-nic"},
    "gpu.llmfit.ai": {"fit-gpu", "fit-unknown"},
    "npu.llmfit.ai": {"fit-npu"},
    "cpu.llmfit.ai": {"fit-cpu", "fit-cpu-ill"},
    "nic.llmfit.ai": {"fit-nic"},
    "hami-core-gpu.project-hami.io": {"hami-gpu"},
    "gpu.example.com": {"ex-gpu"},
}


def test_a_class_matches_all_its_devices_and_no_others(namespace: Namespace, inventory: Inventory) -> None:
    inventory.install(*CLASSES)
    inventory.node(*ALL)
    found = {}
    for device_class in (device_class.name for classes in CLASSES.values() for device_class in classes):
        # Also those that their driver has tainted as unhealthy: whether they match is another question.
        tolerant = {"tolerations": [{"operator": "Exists"}], "allocationMode": "All"}
        everything = {"name": "all", "deviceClassName": device_class, **tolerant}
        name = device_class.replace(".", "-")
        owner = namespace.create(pod(name, claims={"all": name}))
        namespace.create(claim(name, everything, owner=owner))
        namespace.wait_bound(name)
        (made,) = namespace.claims()
        found[device_class] = {item.device for item in allocated(made)}
        namespace.delete_pod(name)
        namespace.wait_claims(0)
    assert found == MATCHED


def test_an_unhealthy_intel_gpu_is_passed_over(namespace: Namespace, inventory: Inventory) -> None:
    inventory.install("intel")
    inventory.node(intel.gpu("gpu-0", health="Unhealthy"), intel.gpu("gpu-1"))
    owner = namespace.create(pod("a", claims={"gpu": "a"}))
    namespace.create(claim("a", request("gpu.intel.com"), owner=owner))
    namespace.wait_bound("a")
    assert [item.device for item in allocated(namespace.claims()[0])] == ["gpu-1"]


@pytest.mark.parametrize(
    ("device", "device_class"),
    [
        (example.gpu("gpu-0", "10Gi", shareable=True), "gpu.example.com"),
        (hami.gpu("gpu-0", "10Gi"), hami.DRIVER),
        (nvidia.shared_gpu("gpu-0", "10Gi"), nvidia.DRIVER),
    ],
    ids=["example", "hami", "nvidia"],
)
def test_a_shareable_device_is_shared_until_its_memory_is_used_up(
    namespace: Namespace, inventory: Inventory, device: Device, device_class: str
) -> None:
    inventory.install("example", "hami", "nvidia")
    inventory.node(device)
    # Of a shareable device a claim takes whole whatever it does not name.
    amounts = {name: "4Gi" if name == "memory" else "10" for name in device.capacity}
    part = request(device_class, at_least(device.driver, "4Gi"), capacity=amounts)

    def ask(name: str) -> None:
        owner = namespace.create(pod(name, claims={"gpu": name}))
        namespace.create(claim(name, part, owner=owner))

    for name in ("a", "b"):
        ask(name)
        namespace.wait_bound(name)
    ask("c")

    def refusals() -> list[str]:
        conditions = namespace.pod("c")["status"].get("conditions", [])
        return [condition["message"] for condition in conditions if condition.get("reason") == "Unschedulable"]

    (refusal,) = wait_for("the scheduler has refused the third pod", refusals)
    assert "cannot allocate all claims" in refusal


def test_a_device_that_no_driver_could_publish_is_refused(inventory: Inventory) -> None:
    with pytest.raises(ApiError, match=r"spec\.devices\[0\]\.name"):
        inventory.node(Device("own.test", "Not A Label"))
