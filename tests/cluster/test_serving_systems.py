"""Pods in the shapes that serving and batch systems give them. Each pod gets its own claim and device, and of its
containers the one that runs the model gets the reference.

The shapes of JobSet and LeaderWorkerSet were taken from jobset v0.12.0 and lws v0.9.0, run beside modelfit. Neither
system can make claims per pod itself yet (kubernetes-sigs/lws#444, kubernetes-sigs/jobset#762), and Knative refuses
`resources.claims` in its own API (knative/serving#15332), but all of them keep the pod's annotations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from testbed.api import JsonObject
from testbed.claims import allocated
from testbed.controllers import Controller, running_webhook_and_controller
from testbed.controlplane import ControlPlane
from testbed.devices import Device, DeviceClass, resource_slice
from testbed.injected_pods import ANNOTATED, wait_each_pod_has_its_claim
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.paths import path
from testbed.pods import deployment, pod, stateful_set
from testbed.stub_webhook import StubWebhook, allow
from testbed.waiting import wait_for
from testbed.webhooks import registered_for_pods
from tests.vendors import nvidia

pytestmark = pytest.mark.cluster

OWN = "registry.invalid/own"


def container(name: str, image: str = OWN, **members: object) -> JsonObject:
    return {"name": name, "image": f"{image}:1", **members}


QUEUE_PROXY = container("queue-proxy", "gcr.io/knative-releases/knative.dev/serving/cmd/queue")
INITIALIZER = container("storage-initializer", "kserve/storage-initializer")
KSERVE = container("kserve-container", "kserve/huggingfaceserver")
ROUTING = container("routing-proxy", "ghcr.io/llm-d/llm-d-routing-sidecar", args=["--vllm-port=8200"])

SHAPES: dict[str, tuple[str, JsonObject]] = {
    "Knative": ("user-container", {"containers": [container("user-container"), QUEUE_PROXY]}),
    "KServe on Knative": (
        "kserve-container",
        {"initContainers": [INITIALIZER], "containers": [KSERVE, QUEUE_PROXY, container("agent", "kserve/agent")]},
    ),
    "KServe with a model in an image": (
        "kserve-container",
        {
            "shareProcessNamespace": True,
            "initContainers": [container("modelcar-init")],
            "containers": [KSERVE, container("modelcar")],
        },
    ),
    "KServe with a transformer": (
        "kserve-container",
        {"containers": [container("transformer-container"), container("kserve-container")]},
    ),
    # The proxy was a native sidecar at first (llm-d/llm-d-deployer#330) and became a container (llm-d/llm-d#861).
    "llm-d, native sidecar": (
        "vllm",
        {
            "initContainers": [ROUTING | {"restartPolicy": "Always"}],
            "containers": [container("vllm", "ghcr.io/llm-d/llm-d-cuda", command=["/start.sh"])],
        },
    ),
    "llm-d": ("vllm", {"containers": [ROUTING, container("vllm", command=["/start.sh"])]}),
    # ai-dynamo/dynamo#8264: the front end runs beside the worker.
    "Dynamo": (
        "main",
        {
            "containers": [
                container("frontend", args=["python3 -m dynamo.frontend"]),
                container("main", args=["python3 -m dynamo.vllm --model x"]),
            ]
        },
    ),
    "AIBrix": ("engine", {"containers": [container("aibrix-runtime", "aibrix/runtime"), container("engine")]}),
    # kubernetes-sigs/kueue PR #12405: KubeRay adds the autoscaler when it builds the head pod.
    "KubeRay": (
        "ray-head",
        {
            "initContainers": [container("wait-gcs-ready", "rayproject/ray")],
            "containers": [
                container("ray-head", "rayproject/ray", args=["ray start --head"]),
                container("autoscaler", "rayproject/ray", args=["ray kuberay-autoscaler"]),
            ],
        },
    ),
    # argoproj/argo-workflows#4126: its pods and other webhooks.
    "Argo Workflows": (
        "main",
        {
            "initContainers": [container("init", "quay.io/argoproj/argoexec")],
            "containers": [
                container("wait", "quay.io/argoproj/argoexec", command=["argoexec", "wait"]),
                container("main", command=["/var/run/argo/argoexec", "emissary", "--", "python"]),
            ],
        },
    ),
}


@pytest.fixture(scope="module")
def cluster(controlplane: ControlPlane) -> Iterator[Controller]:
    with running_webhook_and_controller(controlplane) as controller:
        yield controller


@pytest.fixture
def devices(inventory: Inventory) -> None:
    inventory.install(*nvidia.CLASSES)
    for _ in range(2):
        inventory.node(*(nvidia.gpu(f"gpu-{number}") for number in range(2)))


def wait_pods(namespace: Namespace, count: int) -> dict[str, JsonObject]:
    """Waits for `count` pods, each bound, with its own claim and its own device. Returns them by name."""
    wait_for(f"{count} pods exist", namespace.pods, lambda made: len(made) == count)
    bound = [namespace.wait_bound(made["metadata"]["name"]) for made in namespace.pods()]
    taken = [device for claim in wait_each_pod_has_its_claim(namespace) for device in allocated(claim)]
    assert len(set(taken)) == len(taken) == count
    return {each["metadata"]["name"]: each for each in bound}


def referencing(made: JsonObject) -> list[str]:
    """The containers and init containers with a reference to the claim."""
    containers = [*made["spec"].get("initContainers", []), *made["spec"]["containers"]]
    return [each["name"] for each in containers if each["resources"].get("claims") == [{"name": "modelfit"}]]


@pytest.mark.parametrize("system", SHAPES)
def test_the_container_that_runs_the_model_gets_the_claim(
    system: str, cluster: Controller, namespace: Namespace, devices: None
) -> None:
    target, spec = SHAPES[system]
    namespace.create(deployment("llama", 1, ANNOTATED, **spec))
    (made,) = wait_pods(namespace, 1).values()
    assert referencing(made) == [target]


def test_each_pod_of_a_job_set_gets_its_own_claim(cluster: Controller, namespace: Namespace, devices: None) -> None:
    """JobSet makes an indexed Job for each replica, and repeats the labels in annotations."""
    for index in range(2):
        labels = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/job-index": str(index)}
        template = {
            "metadata": {"labels": labels, "annotations": ANNOTATED | labels},
            "spec": {"restartPolicy": "Never", "subdomain": "train", "containers": [container("server")]},
        }
        namespace.create(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": f"train-workers-{index}", "labels": labels},
                "spec": {
                    "completionMode": "Indexed",
                    "completions": 2,
                    "parallelism": 2,
                    "backoffLimit": 0,
                    "template": template,
                },
            }
        )
    made = wait_pods(namespace, 4)
    hosts = {f"train-workers-{index}-{completion}" for index in range(2) for completion in range(2)}
    assert {each["spec"]["hostname"] for each in made.values()} == hosts


def test_the_pods_of_a_leader_worker_group_get_new_claims_when_the_group_restarts(
    cluster: Controller, namespace: Namespace, devices: None
) -> None:
    """LeaderWorkerSet makes a StatefulSet for the leaders, and for each leader one that the leader's pod owns."""
    group = {"leaderworkerset.sigs.k8s.io/name": "vllm", "leaderworkerset.sigs.k8s.io/group-index": "0"}
    namespace.create(stateful_set("vllm", 1, ANNOTATED | {"leaderworkerset.sigs.k8s.io/size": "2"}))
    before = wait_pods(namespace, 1) | start_worker(namespace, group)
    assert list(before) == ["vllm-0", "vllm-0-1"]
    namespace.delete_pod("vllm-0")
    wait_for("the worker is deleted with its leader", lambda: is_deleted(namespace, before["vllm-0-1"]))
    start_worker(namespace, group)
    after = wait_pods(namespace, 2)
    claims = {each["spec"]["resourceClaims"][0]["resourceClaimName"] for each in (*before.values(), *after.values())}
    assert (set(after), len(claims)) == (set(before), 4)


def start_worker(namespace: Namespace, group: Mapping[str, str]) -> dict[str, JsonObject]:
    """Creates the workers of the leader, as LeaderWorkerSet does when the leader exists."""
    leader = wait_for(
        "the leader exists",
        lambda: namespace.api.find(namespace.path("Pod", "vllm-0")),
        lambda found: found and "deletionTimestamp" not in found["metadata"],
    )
    assert leader is not None
    workers = stateful_set("vllm-0", 1, ANNOTATED | {"leaderworkerset.sigs.k8s.io/leader-name": "vllm-0"})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "vllm-0", "uid": leader["metadata"]["uid"], "controller": True}
    workers["metadata"] |= {"labels": dict(group), "ownerReferences": [owner]}
    workers["spec"]["ordinals"] = {"start": 1}
    namespace.create(workers)
    return {name: made for name, made in wait_pods(namespace, 2).items() if name == "vllm-0-1"}


def is_deleted(namespace: Namespace, worker: JsonObject) -> bool:
    """Whether the garbage collector has deleted the workers' StatefulSet and this pod of it."""
    namespace.finish_deletions()
    left = [each["metadata"]["uid"] for each in namespace.pods()]
    return namespace.api.find(namespace.path("StatefulSet", "vllm-0")) is None and worker["metadata"]["uid"] not in left


def test_pods_that_also_share_a_claim_of_their_group_are_scheduled(
    cluster: Controller, namespace: Namespace, devices: None, channel: str
) -> None:
    """A group of pods shares one claim for all nodes, for NVIDIA's ComputeDomain for example. Schedulers have left such
    pods pending if they had a claim of their own beside it (kubernetes/kubernetes#139016)."""
    request = {"name": "channel", "exactly": {"deviceClassName": channel}}
    namespace.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "domain"},
            "spec": {"devices": {"requests": [request]}},
        }
    )
    for name in ("leader", "worker"):
        answer = namespace.api.send(
            "POST", namespace.path("Pod"), pod(name, annotations=ANNOTATED, claims={"domain": "domain"})
        )
        assert 'one more device beside "domain"' in answer.warnings[1]
        # The second pod meets a shared claim that is allocated already.
        namespace.wait_bound(name)
    wait_pods(namespace, 2)
    shared = namespace.api.get(namespace.path("ResourceClaim", "domain"))
    assert {each["name"] for each in shared["status"]["reservedFor"]} == {"leader", "worker"}


@pytest.fixture
def channel(controlplane: ControlPlane, inventory: Inventory) -> Iterator[str]:
    """The DeviceClass of a device that all nodes can use."""
    name = "channel.example.com"
    inventory.install(DeviceClass(name, f'device.driver == "{name}"'))
    device = Device(name, "channel-0")
    manifest = resource_slice(f"all-{name}", name, "all", [device])
    del manifest["spec"]["nodeName"]
    manifest["spec"]["allNodes"] = True
    controlplane.api().create(manifest)
    yield name
    controlplane.api().delete(path("ResourceSlice", None, manifest["metadata"]["name"]))


def test_a_gated_pod_has_its_claim_when_the_gate_is_removed(
    cluster: Controller, namespace: Namespace, devices: None
) -> None:
    """Gang schedulers and queues hold the pods of a group until all exist."""
    gates = [{"name": "example.com/group"}]
    for name in ("leader", "worker"):
        namespace.create(pod(name, annotations=ANNOTATED, schedulingGates=gates))
    claims = wait_each_pod_has_its_claim(namespace)
    assert [allocated(claim) for claim in claims] == [[], []]
    for name in ("leader", "worker"):
        namespace.api.patch(namespace.path("Pod", name), {"spec": {"schedulingGates": []}})
    wait_pods(namespace, 2)


def test_a_webhook_that_drops_the_claim_from_the_entry_is_named_in_the_denial(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace
) -> None:
    """kubernetes-sigs/kueue#2948: a webhook that was built with an older Pod type loses the fields that it lacks. The
    entry of spec.resourceClaims had its claim one level deeper, in `source`, until Kubernetes 1.31."""

    def round_trip(request: JsonObject) -> JsonObject:
        entries = request["object"]["spec"].get("resourceClaims", [])
        return allow(
            patch=[{"op": "replace", "path": "/spec/resourceClaims/0", "value": {"name": "modelfit"}}][: len(entries)]
        )

    with StubWebhook(round_trip) as stub, registered_for_pods(controlplane, stub.url, stub.ca, mutating=True):
        answer = namespace.api.send("POST", namespace.path("Pod"), pod("llama", annotations=ANNOTATED))
    assert answer.status == 403
    assert "an entry without a claim; " in str(answer.body["message"])
    assert "update the webhook that dropped resourceClaimName from the pod" in str(answer.body["message"])
