"""A copy of an admitted pod, made with kubectl, gets its own claim and device. A pod that is admitted twice or
recreated unchanged keeps the name of its claim."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from testbed.api import JsonObject
from testbed.claims import allocated
from testbed.controllers import Controller, running_webhook_and_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED, wait_each_pod_has_its_claim
from testbed.inventory import Inventory
from testbed.kubectl import Result
from testbed.namespaces import Namespace
from testbed.pods import deployment, job, pod
from testbed.stub_webhook import StubWebhook, allow
from testbed.waiting import wait_for
from testbed.webhooks import MUTATING, call_count, registered_for_pods
from tests.vendors import nvidia

pytestmark = pytest.mark.cluster

ANNOTATION = "llmfit.ai/model-fit"
LARGER = '{"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 60}'
WITHOUT_GPU = '{"model": "llama-7b", "min_ram_gb": 12, "min_vram_gb": 0}'


@pytest.fixture(scope="module")
def cluster(controlplane: ControlPlane) -> Iterator[Controller]:
    with running_webhook_and_controller(controlplane) as controller:
        yield controller


@pytest.fixture
def devices(inventory: Inventory) -> None:
    inventory.install(*nvidia.CLASSES)
    inventory.node(*(nvidia.gpu(f"gpu-{number}", "80Gi") for number in range(6)))


def exported(plane: ControlPlane, namespace: Namespace, name: str) -> JsonObject:
    """The pod from `kubectl get --output=json`, without the fields that prevent creating it again."""
    exported_pod: JsonObject = json.loads(
        plane.kubectl("get", "pod", name, "--namespace", namespace.name, "--output=json").ok().stdout
    )
    for key in ("uid", "resourceVersion", "creationTimestamp"):
        del exported_pod["metadata"][key]
    for key in ("status", "nodeName"):
        exported_pod.get("spec", {}).pop(key, None)
        exported_pod.pop(key, None)
    return exported_pod


def create(plane: ControlPlane, manifest: JsonObject) -> Result:
    return plane.kubectl("create", "--output=json", "--filename=-", input=manifest)


def claim_of(made: JsonObject) -> str:
    """The name of the pod's claim, which all places of the pod agree on."""
    (entry,) = made["spec"]["resourceClaims"]
    assert entry == {"name": "modelfit", "resourceClaimName": made["metadata"]["annotations"]["llmfit.ai/claim"]}
    assert [each["resources"].get("claims") for each in made["spec"]["containers"]] == [[{"name": "modelfit"}]]
    return str(entry["resourceClaimName"])


def wait_each_pod_has_its_own_device(namespace: Namespace, pods: int) -> None:
    wait_for(f"{pods} pods exist", namespace.pods, lambda made: len(made) == pods)
    for made in namespace.pods():
        namespace.wait_bound(made["metadata"]["name"])
    taken = [device for claim in wait_each_pod_has_its_claim(namespace) for device in allocated(claim)]
    assert len(set(taken)) == len(taken) == pods


def test_a_copy_with_another_name_gets_its_own_claim_and_device(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace, devices: None
) -> None:
    first = claim_of(namespace.create(pod("llama", annotations=ANNOTATED)))
    namespace.wait_bound("llama")
    for name, fit in (("same-fit", None), ("larger", LARGER)):
        manifest = exported(controlplane, namespace, "llama")
        manifest["metadata"]["name"] = name
        if fit:
            manifest["metadata"]["annotations"][ANNOTATION] = fit
        result = create(controlplane, manifest).ok()
        assert claim_of(json.loads(result.stdout)) != first
        assert any(f"named claim {first}, which is for another pod or another fit" in each for each in result.warnings)
    wait_each_pod_has_its_own_device(namespace, 3)


def test_a_copy_in_another_namespace_gets_a_claim_there(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace, devices: None
) -> None:
    first = claim_of(namespace.create(pod("llama", annotations=ANNOTATED)))
    other = Namespace(namespace.api)
    try:
        manifest = exported(controlplane, namespace, "llama")
        manifest["metadata"]["namespace"] = other.name
        assert claim_of(json.loads(create(controlplane, manifest).ok().stdout)) != first
        wait_each_pod_has_its_own_device(other, 1)
        wait_each_pod_has_its_own_device(namespace, 1)
    finally:
        other.close()


def test_a_copy_of_a_jobs_pod_gets_its_own_claim_even_with_the_same_generate_name(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace, devices: None
) -> None:
    namespace.create(job("llama", ANNOTATED))
    (made,) = wait_for("its pod exists", namespace.pods)
    named = {claim_of(made)}
    for changes in ({"name": "renamed"}, {"generateName": made["metadata"]["generateName"]}):
        manifest = exported(controlplane, namespace, made["metadata"]["name"])
        for key in ("ownerReferences", "labels", "finalizers", "name", "generateName"):
            manifest["metadata"].pop(key, None)
        manifest["metadata"] |= {"labels": {"llmfit.ai/injected": "true"}, **changes}
        named.add(claim_of(json.loads(create(controlplane, manifest).ok().stdout)))
    assert len(named) == 3
    wait_each_pod_has_its_own_device(namespace, 3)


def test_each_pod_of_a_template_copied_from_an_admitted_pod_gets_its_own_claim(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace, devices: None
) -> None:
    namespace.create(pod("llama", annotations=ANNOTATED))
    manifest = deployment("web", 3)
    template, copied = manifest["spec"]["template"], exported(controlplane, namespace, "llama")
    template["metadata"]["annotations"] = copied["metadata"]["annotations"]
    template["metadata"]["labels"] |= copied["metadata"]["labels"]
    template["spec"] = copied["spec"]
    namespace.create(manifest)
    wait_each_pod_has_its_own_device(namespace, 4)


def test_a_copy_whose_model_needs_no_gpu_is_denied(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace
) -> None:
    first = claim_of(namespace.create(pod("llama", annotations=ANNOTATED)))
    manifest = exported(controlplane, namespace, "llama")
    manifest["metadata"]["name"] = "idle"
    manifest["metadata"]["annotations"][ANNOTATION] = WITHOUT_GPU
    refused = create(controlplane, manifest)
    assert refused.returncode == 1
    assert f"spec.resourceClaims[0]: claim {first} on a model that needs no GPU" in refused.stderr
    del manifest["spec"]["resourceClaims"]
    del manifest["spec"]["containers"][0]["resources"]["claims"]
    create(controlplane, manifest).ok()


def debug_copy(plane: ControlPlane, namespace: Namespace, name: str, *options: str) -> Result:
    """`kubectl debug --copy-to` of the pod `llama`, with one more container."""
    copy = ("llama", f"--copy-to={name}", "--image=registry.invalid/shell:1", f"--namespace={namespace.name}")
    return plane.kubectl("debug", *copy, *options).ok()


@pytest.mark.parametrize("ended", [False, True], ids=["running", "ended"])
def test_a_debug_copy_draws_a_warning_and_with_its_annotations_gets_its_own_claim(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace, devices: None, ended: bool
) -> None:
    first = claim_of(namespace.create(pod("llama", annotations=ANNOTATED)))
    namespace.wait_bound("llama")
    if ended:
        namespace.set_phase("llama", "Failed")
        namespace.wait_claims(0)
    before = call_count(controlplane, MUTATING)
    result = debug_copy(controlplane, namespace, "lost")
    assert call_count(controlplane, MUTATING) == before + 1
    (warning,) = (each for each in result.warnings if each.startswith("modelfit: "))
    assert warning.startswith(f"modelfit: spec.resourceClaims[0] names claim {first} of another pod, ")
    assert warning.endswith("kubectl debug --keep-annotations")
    copied = namespace.pod("lost")
    assert "annotations" not in copied["metadata"]
    assert [each["resourceClaimName"] for each in copied["spec"]["resourceClaims"]] == [first]

    result = debug_copy(controlplane, namespace, "kept", "--keep-annotations")
    assert any(f"named claim {first}, which is for another pod" in each for each in result.warnings)
    kept = namespace.pod("kept")
    second = kept["metadata"]["annotations"]["llmfit.ai/claim"]
    assert [each["resourceClaimName"] for each in kept["spec"]["resourceClaims"]] == [second]
    assert second != first
    namespace.wait_bound("kept")
    assert {each["metadata"]["name"] for each in namespace.claims()} == ({second} if ended else {first, second})


def test_a_pod_with_claims_of_its_own_only_causes_no_call(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace
) -> None:
    before = call_count(controlplane, MUTATING)
    namespace.create(pod("own", claims={"gpu": "llama-7b-claim-0123456789"}))
    namespace.create(pod("template", templates={"gpu": "single"}))
    namespace.create(pod("plain"))
    assert call_count(controlplane, MUTATING) == before


def test_a_pod_that_is_recreated_unchanged_keeps_the_claim_name_and_gets_a_new_claim(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace, devices: None
) -> None:
    name = claim_of(namespace.create(pod("llama", annotations=ANNOTATED)))
    for _ in range(3):
        namespace.wait_bound("llama")
        (before,) = wait_each_pod_has_its_claim(namespace)
        manifest = exported(controlplane, namespace, "llama")
        namespace.delete_pod("llama")
        result = create(controlplane, manifest).ok()
        assert claim_of(json.loads(result.stdout)) == name
        assert result.warnings == ()
        wait_each_pod_has_its_own_device(namespace, 1)
        (after,) = namespace.claims()
        assert after["metadata"]["uid"] != before["metadata"]["uid"]


@pytest.mark.parametrize("generated", [False, True], ids=["named", "generated"])
def test_a_reinvoked_webhook_keeps_the_claim_of_the_pod(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace, devices: None, generated: bool
) -> None:
    """Another webhook adds a container after the first call, so the webhook is called again. A generated name is set
    after both calls."""
    sidecar = {"name": "proxy", "image": "registry.invalid/proxy:1"}
    sent: list[JsonObject] = []

    def decide(request: JsonObject) -> JsonObject:
        if request["namespace"] != namespace.name:
            return allow()
        sent.append(request["object"])
        here = any(each["name"] == "proxy" for each in request["object"]["spec"]["containers"])
        return allow(patch=[] if here else [{"op": "add", "path": "/spec/containers/0", "value": sidecar}])

    target = pod(None if generated else "llama", generate_name="llama-", annotations=ANNOTATED)
    with StubWebhook(decide) as other, registered_for_pods(controlplane, other.url, other.ca, mutating=True):
        before = call_count(controlplane, MUTATING)
        answer = namespace.api.send("POST", namespace.path("Pod"), target)
        assert answer.status == 201
        assert call_count(controlplane, MUTATING) == before + 2
    (first, *_) = sent
    assert ("name" in first["metadata"]) is not generated
    made = namespace.pods()[0]
    assert [each["name"] for each in made["spec"]["containers"]] == ["proxy", "app"]
    assert "claims" not in made["spec"]["containers"][0]["resources"]
    assert [entry["resourceClaimName"] for entry in made["spec"]["resourceClaims"]] == [
        first["spec"]["resourceClaims"][0]["resourceClaimName"]
    ]
    assert not any("another pod" in warning for warning in answer.warnings)
    into = f"{namespace.name}/llama{'-*' if generated else ''}"
    assert made["metadata"]["annotations"]["llmfit.ai/injected-into"] == into
    wait_each_pod_has_its_claim(namespace)
