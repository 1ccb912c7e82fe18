"""Beside what else changes pods at admission: sidecar injectors, LimitRange; and pods of very many containers."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from testbed.api import JsonObject
from testbed.injected_pods import ANNOTATED
from testbed.namespaces import Namespace
from testbed.paths import path
from testbed.pods import deployment, pod
from testbed.programs import WebhookServer
from testbed.waiting import wait_for

pytestmark = pytest.mark.cluster

MODEL_SERVER = [{"name": "server", "image": "vllm/vllm-openai:latest"}]
UNKNOWN = [{"name": "server", "image": "registry.invalid/own:1"}]
CONDITION = "unless a LimitRange or another webhook sets one"


@contextmanager
def prepending(namespace: Namespace, sidecar: str) -> Iterator[None]:
    """A MutatingAdmissionPolicy that inserts a container at index 0, as Fluid's webhook does, in effect inside the
    `with`."""
    name = f"prepend-{secrets.token_hex(3)}"
    patch = (
        '[JSONPatch{op: "add", path: "/spec/containers/0", '
        f'value: {{"name": "{sidecar}", "image": "registry.invalid/sidecar:1"}}}}]'
    )
    policy: JsonObject = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}},
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
                ],
            },
            "matchConditions": [
                {"name": "once", "expression": f"!object.spec.containers.exists(each, each.name == '{sidecar}')"}
            ],
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
        },
    }
    binding: JsonObject = {
        "apiVersion": policy["apiVersion"],
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name},
    }

    def inserted() -> bool:
        made = namespace.create(pod(generate_name="probe-"), dryRun="All")
        return any(each["name"] == sidecar for each in made["spec"]["containers"])

    try:
        for each in (policy, binding):
            namespace.api.create(each)
        wait_for(f"{sidecar} is inserted", inserted)
        yield
    finally:
        for each in (binding, policy):
            namespace.api.delete_if_exists(path(each["kind"], None, name))


def only_pod(namespace: Namespace) -> JsonObject:
    return wait_for("a pod exists", namespace.pods)[0]


def resources(made: JsonObject) -> dict[str, JsonObject]:
    return {each["name"]: each.get("resources", {}) for each in made["spec"]["containers"]}


@pytest.mark.parametrize("sidecar", ["fluid-fuse-0", "unknown"])
def test_the_model_server_gets_what_the_workload_announced_although_a_sidecar_was_inserted(
    webhook: WebhookServer, namespace: Namespace, sidecar: str
) -> None:
    with prepending(namespace, sidecar):
        manifest = deployment("llama", 1, ANNOTATED, containers=MODEL_SERVER)
        answer = namespace.api.send("POST", namespace.path("Deployment"), manifest)
        assert 'each pod gets a claim for "server": ' in answer.warnings[0]
        found = resources(only_pod(namespace))
    assert list(found) == [sidecar, "server"]
    assert found[sidecar] == {}
    assert found["server"] == {"claims": [{"name": "modelfit"}], "requests": {"memory": "12Gi"}}


def test_a_known_sidecar_does_not_get_the_claim_of_an_unknown_server(
    webhook: WebhookServer, namespace: Namespace
) -> None:
    with prepending(namespace, "fluid-fuse-0"):
        namespace.create(deployment("llama", 1, ANNOTATED, containers=UNKNOWN))
        found = resources(only_pod(namespace))
    assert (found["fluid-fuse-0"], found["server"]["claims"]) == ({}, [{"name": "modelfit"}])


def test_a_pod_of_two_unknown_containers_is_denied_until_the_annotation_names_one(
    webhook: WebhookServer, namespace: Namespace
) -> None:
    with prepending(namespace, "unknown"):
        namespace.create(deployment("llama", 1, ANNOTATED, containers=UNKNOWN))
        events = wait_for("the ReplicaSet reports the denial", lambda: namespace.events(reason="FailedCreate"))
        assert (
            'several that may run the model: "unknown", "server"; want one target container; name the container in'
            in (events[0]["message"])
        )
        assert namespace.pods() == []
        annotations = {"llmfit.ai/containers": "server"}
        change = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
        namespace.api.patch(namespace.path("Deployment", "llama"), change)
        found = resources(only_pod(namespace))
    assert (found["unknown"], found["server"]["claims"]) == ({}, [{"name": "modelfit"}])


def test_a_workload_does_not_promise_the_memory_request_that_a_limit_range_prevents(
    webhook: WebhookServer, namespace: Namespace
) -> None:
    item = {"type": "Container", "default": {"memory": "512Mi"}, "defaultRequest": {"memory": "256Mi"}}
    limit_range = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "defaults"},
        "spec": {"limits": [item]},
    }
    namespace.create(limit_range)

    def limited() -> bool:
        made = namespace.create(pod(generate_name="probe-"), dryRun="All")
        return "limits" in resources(made)["app"]

    wait_for("the LimitRange is in effect", limited)
    answer = namespace.api.send("POST", namespace.path("Deployment"), deployment("llama", 1, ANNOTATED))
    assert answer.warnings[0].endswith(f"; memory request 12Gi {CONDITION}")
    found = resources(only_pod(namespace))["app"]
    assert (found["requests"], found["limits"]) == ({"memory": "256Mi"}, {"memory": "512Mi"})
    answer = namespace.api.send("POST", namespace.path("Pod"), pod("llama", annotations=ANNOTATED))
    assert "memory request" not in answer.warnings[0]
    assert [each for each in answer.warnings if "limits.memory is less than the 12Gi that the model needs" in each]


@pytest.mark.parametrize("count", [1001, 15_000])
def test_a_pod_of_very_many_containers_is_denied_with_a_sentence(
    webhook: WebhookServer, namespace: Namespace, count: int
) -> None:
    containers = [{"name": f"c{index}", "image": "x"} for index in range(count)]
    manifest = pod("llama", annotations=ANNOTATED) | {"spec": {"containers": containers}}
    answer = namespace.api.send("POST", namespace.path("Pod"), manifest)
    assert answer.status == 422
    assert f"spec.containers: {count} containers and init containers; want at most 1000" in str(answer.body)


def test_a_pod_whose_review_is_too_large_is_denied_with_a_sentence(
    webhook: WebhookServer, namespace: Namespace
) -> None:
    """The API server adds defaults to each container, so that the review of a 1.6 MB pod exceeds 8 MiB."""
    containers = [{"name": f"c{index}", "image": "x"} for index in range(60_000)]
    manifest = pod("llama", annotations=ANNOTATED) | {"spec": {"containers": containers}}
    answer = namespace.api.send("POST", namespace.path("Pod"), manifest)
    assert answer.status in (403, 422)
    assert "larger than 8388608 bytes" in str(answer.body)
    assert "make the object smaller" in str(answer.body)
