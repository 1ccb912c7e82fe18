"""Beside the Vertical Pod Autoscaler: its webhook sets requests at admission, its updater resizes or evicts pods.

VPA's configuration is named `vpa-webhook-config`, so its webhook runs after modelfit's. If two webhooks set the same
request again and again, VPA evicts the pod again and again (kubernetes/autoscaler#5617, #7641).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.api import STRATEGIC_PATCH, JsonObject
from testbed.claims import allocated
from testbed.controllers import Controller, running_webhook_and_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED, wait_each_pod_has_its_claim
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.stub_webhook import StubWebhook, allow
from testbed.webhooks import registered_for_pods
from tests.vendors import nvidia

pytestmark = pytest.mark.cluster

WITHOUT_MEMORY = {"llmfit.ai/model-fit": '{"model": "llama-7b", "min_vram_gb": 8}'}
RECOMMENDED = {"cpu": "500m", "memory": "2Gi"}
BELOW = "spec.containers[0].resources.requests.memory is less than the 12Gi that the model needs; it is kept"


def recommend(request: JsonObject) -> JsonObject:
    """The patch of VPA's webhook (`pkg/admission-controller/resource/pod/patch`). It replaces `resources` of a
    container without requests and limits, and with it the container's claims."""
    patch: list[JsonObject] = []
    for index, container in enumerate(request["object"]["spec"]["containers"]):
        path, resources = f"/spec/containers/{index}/resources", container.get("resources") or {}
        if not resources.get("requests") and not resources.get("limits"):
            patch.append({"op": "add", "path": path, "value": {}})
        if not resources.get("requests"):
            patch.append({"op": "add", "path": f"{path}/requests", "value": {}})
        patch += [{"op": "add", "path": f"{path}/requests/{name}", "value": RECOMMENDED[name]} for name in RECOMMENDED]
    return allow(patch=patch)


@pytest.fixture(scope="module")
def cluster(controlplane: ControlPlane) -> Iterator[Controller]:
    with running_webhook_and_controller(controlplane) as controller:
        yield controller


@pytest.fixture
def autoscaled(
    controlplane: ControlPlane, cluster: Controller, inventory: Inventory, namespace: Namespace
) -> Iterator[Namespace]:
    """A namespace beside a node with one GPU, while VPA's webhook sets requests."""
    inventory.install(*nvidia.CLASSES)
    inventory.node(nvidia.gpu("gpu-0", "24Gi"))
    with StubWebhook(recommend) as stub, registered_for_pods(controlplane, stub.url, stub.ca, mutating=True):
        yield namespace


@pytest.mark.parametrize(
    ("annotations", "warnings"), [(ANNOTATED, [BELOW]), (WITHOUT_MEMORY, [])], ids=["memory", "no-memory"]
)
def test_a_pod_keeps_its_claim_and_the_recommended_requests(
    annotations: dict[str, str], warnings: list[str], autoscaled: Namespace
) -> None:
    answer = autoscaled.api.send("POST", autoscaled.path("Pod"), pod("llama", annotations=annotations))
    (container,) = answer.body["spec"]["containers"]
    assert container["resources"] == {"requests": RECOMMENDED, "claims": [{"name": "modelfit"}]}
    assert list(answer.warnings[1:]) == warnings
    autoscaled.wait_bound("llama")
    (claim,) = wait_each_pod_has_its_claim(autoscaled)
    assert [device.device for device in allocated(claim)] == ["gpu-0"]


def test_an_injected_pod_can_be_resized_in_place_and_keeps_its_device(autoscaled: Namespace) -> None:
    """Kubernetes has refused this for containers with claims (kubernetes/kubernetes PR #138641)."""
    autoscaled.create(pod("llama", annotations=ANNOTATED))
    autoscaled.wait_bound("llama")
    (before,) = wait_each_pod_has_its_claim(autoscaled)
    change = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"memory": "3Gi"}}}]}}
    resized = autoscaled.api.patch(autoscaled.path("Pod", "llama", "resize"), change, STRATEGIC_PATCH)
    (container,) = resized["spec"]["containers"]
    assert container["resources"] == {
        "requests": RECOMMENDED | {"memory": "3Gi"},
        "claims": [{"name": "modelfit"}],
    }
    (after,) = wait_each_pod_has_its_claim(autoscaled)
    assert (after["metadata"]["uid"], allocated(after)) == (before["metadata"]["uid"], allocated(before))
