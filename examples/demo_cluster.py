"""Shows a pod, its claim, the allocated device and garbage collection on a real control plane.

Needs the binaries that `make controlplane` builds (or KUBEBUILDER_ASSETS). Everything runs on loopback, and is stopped
at the end. There is no kubelet, so containers do not run.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from testbed import assets, pods
from testbed.controllers import running_webhook_and_controller
from testbed.controlplane import ControlPlane
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.waiting import wait_for
from tests.vendors import nvidia

FIT = {"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 38}


def main() -> int:
    """Prints the steps. Returns 1 if the binaries are missing."""
    try:
        assets.find()
    except assets.NoAssetsError as problem:
        print(problem, file=sys.stderr)
        return 1
    print("1. Start a control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler.")
    with ControlPlane() as plane:
        inventory = Inventory(plane.api())
        inventory.install(*nvidia.CLASSES)
        node = inventory.node(nvidia.gpu("gpu-0", "24Gi"), nvidia.gpu("gpu-1", "80Gi"))
        print("2. Add a node with a GPU of 24Gi and one of 80Gi, as NVIDIA's DRA driver publishes them.")
        with running_webhook_and_controller(plane):
            namespace = Namespace(plane.api())
            try:
                show(namespace, node)
            finally:
                namespace.close()
    print("6. Stopped the control plane.")
    return 0


def show(namespace: Namespace, node: str) -> None:
    """Creates a pod, and prints what happens to it until its claim is deleted."""
    print(f"3. Create a pod with the annotation {json.dumps(FIT)}.")
    namespace.create(pods.pod("llama", annotations={"llmfit.ai/model-fit": json.dumps(FIT)}))
    pod = namespace.wait_bound("llama")
    (claim,) = namespace.wait_claims(1)
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    name, device = claim["metadata"]["name"], result["device"]
    print(f"   It is admitted with spec.resourceClaims: {json.dumps(pod['spec']['resourceClaims'])}")
    (owner,) = claim["metadata"]["ownerReferences"]
    print(f"4. The controller created ResourceClaim {name}, owned by {owner['kind']} {owner['name']}.")
    print(f"   The scheduler allocated {device} of {result['driver']}, and bound the pod to {pod['spec']['nodeName']}.")
    assert pod["spec"]["nodeName"] == node
    namespace.set_phase("llama", "Succeeded")
    wait_for("the claim is gone", namespace.claims, lambda claims: not claims)
    print("5. The pod succeeded. Kubernetes deleted the claim, so the GPU is free again.")


if __name__ == "__main__":
    sys.exit(main())
