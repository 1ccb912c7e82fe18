"""The patch for absent, empty, null and filled parents, applied by an independent library. `expected` computes the pod
without the code under test."""

import copy
import itertools
import json

import jsonpointer
import pytest

from tests.core.builders import CLAIM, CPU_FIT, REMOVED, Json, container, mutate, patched, pod
from tests.core.schemas import assert_valid
from webhook.core.admission import json_patch
from webhook.core.admission_config import AdmissionConfig

ABSENT = REMOVED
OTHER_CLAIM = {"name": "nic", "resourceClaimName": "nic-claim"}

SPEC_CLAIMS = {"absent": ABSENT, "null": None, "empty": [], "filled": [OTHER_CLAIM]}
CLAIMS = {"absent": ABSENT, "null": None, "empty": [], "filled": [{"name": "nic", "request": "port"}]}
REQUESTS = {"absent": ABSENT, "null": None, "empty": {}, "filled": {"cpu": "2", "example.com/x~y": "1"}}
LABELS = {"absent": ABSENT, "null": None, "empty": {}, "filled": {"app": "llama", "a.b/c": "d"}}
INIT = {
    "absent": ABSENT,
    "null": None,
    "empty": [],
    "filled": [container("setup", resources={"claims": [{"name": "nic"}]})],
}
ENV = {"absent": ABSENT, "null": None, "empty": [], "filled": [{"name": "TOKEN", "value": "x"}]}
ANNOTATIONS = {"alone": {}, "special": {"a/b~c": "1", "~1": "2", "/": "3", "": "4", "é": "5", "nothing": None}}


def resources_of(claims: object, requests: object) -> Json:
    """Resources of a container with these members."""
    members = {"claims": claims, "requests": requests}
    return {key: copy.deepcopy(value) for key, value in members.items() if value is not ABSENT}


RESOURCES = {"absent": ABSENT, "null": None, "empty": {}, "limits": {"limits": {"cpu": "4"}}} | {
    f"claims-{claims}-requests-{requests}": resources_of(CLAIMS[claims], REQUESTS[requests])
    for claims, requests in itertools.product(CLAIMS, REQUESTS)
    if (claims, requests) != ("absent", "absent")
}


def expected(before: Json, claim: str | None, memory: str, resources: str) -> Json:
    """The injected pod, whatever the parents of the added members were."""
    after = copy.deepcopy(before)
    spec, metadata = after["spec"], after["metadata"]
    (target,) = spec["containers"]
    own = dict(target.get("resources") or {})
    own["requests"] = {**(own.get("requests") or {}), "memory": memory}
    if claim is not None:
        own["claims"] = [*(own.get("claims") or []), {"name": "modelfit"}]
        entry = {"name": "modelfit", "resourceClaimName": claim}
        spec["resourceClaims"] = [*(spec.get("resourceClaims") or []), entry]
        metadata["labels"] = {**(metadata.get("labels") or {}), "llmfit.ai/injected": "true"}
        metadata["annotations"]["llmfit.ai/claim"] = claim
    target["resources"] = own
    metadata["annotations"] |= {"llmfit.ai/resources": resources, "llmfit.ai/injected-into": "team-a/llama"}
    return after


@pytest.mark.parametrize("annotations", ANNOTATIONS)
@pytest.mark.parametrize("resources", RESOURCES)
@pytest.mark.parametrize("spec_claims", SPEC_CLAIMS)
def test_the_patch_gives_the_expected_pod_for_any_parents(spec_claims: str, resources: str, annotations: str) -> None:
    for labels, init in itertools.product(LABELS, INIT):
        before = pod(
            annotations=ANNOTATIONS[annotations],
            metadata={"labels": copy.deepcopy(LABELS[labels])},
            containers=[container(resources=copy.deepcopy(RESOURCES[resources]))],
            resourceClaims=copy.deepcopy(SPEC_CLAIMS[spec_claims]),
            initContainers=copy.deepcopy(INIT[init]),
        )
        decision = mutate(before)
        after = patched(before, decision)
        assert after == expected(before, CLAIM, "12Gi", '{"gpu.memory":"8Gi","memory":"12Gi"}'), (labels, init)
        assert_patch_is_minimal(before, decision.patch)
        assert json_patch.apply(copy.deepcopy(before), decision.patch) == after


@pytest.mark.parametrize("resources", RESOURCES)
@pytest.mark.parametrize("labels", LABELS)
def test_a_cpu_only_model_gets_a_memory_request_and_no_claim(labels: str, resources: str) -> None:
    before = pod(
        CPU_FIT,
        metadata={"labels": copy.deepcopy(LABELS[labels])},
        containers=[container(resources=copy.deepcopy(RESOURCES[resources]))],
        resourceClaims=copy.deepcopy(SPEC_CLAIMS["filled"]),
    )
    decision = mutate(before)
    after = patched(before, decision)
    assert after == expected(before, None, "4Gi", '{"gpu.memory":"0Gi","memory":"4Gi"}')
    assert_patch_is_minimal(before, decision.patch)


@pytest.mark.parametrize("env", ENV)
def test_the_configured_variable_is_added_to_the_environment(env: str) -> None:
    config = AdmissionConfig(device_count_variable="TENSOR_PARALLEL")
    before = pod(annotations={"llmfit.ai/device-count": "2"}, containers=[container(env=copy.deepcopy(ENV[env]))])
    decision = mutate(before, config)
    wanted = expected(before, CLAIM, "12Gi", '{"gpu.memory":"8Gi","memory":"12Gi"}')
    (target,) = wanted["spec"]["containers"]
    target["env"] = [*(target.get("env") or []), {"name": "TENSOR_PARALLEL", "value": "2"}]
    assert patched(before, decision) == wanted
    assert_patch_is_minimal(before, decision.patch)


def assert_patch_is_minimal(before: Json, operations: tuple[json_patch.Operation, ...]) -> None:
    """Every operation is an `add` of a member that is absent or null, or to the end of a list."""
    state = copy.deepcopy(before)
    for operation in operations:
        assert operation["op"] == "add"
        assert operation.keys() == {"op", "path", "value"}
        if not operation["path"].endswith("/-"):
            assert jsonpointer.resolve_pointer(state, operation["path"], None) is None, operation["path"]
        json_patch.apply(state, [operation])


def test_the_patch_changes_our_paths_only() -> None:
    before = pod(
        metadata={"labels": {"app": "llama"}},
        containers=[container("web"), container("server", resources={"requests": {"cpu": "1"}})],
        annotations={"llmfit.ai/containers": "server"},
        resourceClaims=[OTHER_CLAIM],
    )
    assert mutate(before).patch == (
        {
            "op": "add",
            "path": "/spec/resourceClaims/-",
            "value": {"name": "modelfit", "resourceClaimName": CLAIM},
        },
        {"op": "add", "path": "/spec/containers/1/resources/claims", "value": [{"name": "modelfit"}]},
        {"op": "add", "path": "/spec/containers/1/resources/requests/memory", "value": "12Gi"},
        {"op": "add", "path": "/metadata/labels/llmfit.ai~1injected", "value": "true"},
        {"op": "add", "path": "/metadata/annotations/llmfit.ai~1claim", "value": CLAIM},
        {
            "op": "add",
            "path": "/metadata/annotations/llmfit.ai~1resources",
            "value": '{"gpu.memory":"8Gi","memory":"12Gi"}',
        },
        {"op": "add", "path": "/metadata/annotations/llmfit.ai~1injected-into", "value": "team-a/llama"},
    )


FUTURE: Json = {
    "unknownOfNextYear": {"é": [1, 2.50, None, True, {"deep": "🦙"}], "a/b": {"~": "~1"}},
    "tokens": ["\u2028", "\\", '"'],
}


def test_unknown_fields_are_kept_byte_for_byte() -> None:
    before = pod(
        metadata={"labels": {"z": "1", "a": "2"}, "futureMetadata": FUTURE},
        containers=[
            container("z", future=FUTURE, resources={"future": FUTURE, "requests": {"z": "1"}}),
            container("a"),
        ],
        annotations={"llmfit.ai/containers": "z", "z/~1": FUTURE["tokens"][1]},
        resourceClaims=[OTHER_CLAIM | {"future": FUTURE}],
        future=FUTURE,
        apiFirst=None,
    )
    after = patched(before, mutate(before))
    remove_injection(after)
    assert json.dumps(after, ensure_ascii=False) == json.dumps(before, ensure_ascii=False)


def remove_injection(after: Json) -> None:
    """Removes the injection from a pod that had `resources.requests`, `resourceClaims` and labels before."""
    del after["metadata"]["labels"]["llmfit.ai/injected"]
    for key in ("claim", "resources", "injected-into"):
        del after["metadata"]["annotations"][f"llmfit.ai/{key}"]
    assert after["spec"]["resourceClaims"].pop()["name"] == "modelfit"
    resources = after["spec"]["containers"][0]["resources"]
    assert resources.pop("claims") == [{"name": "modelfit"}]
    assert resources["requests"].pop("memory") == "12Gi"


@pytest.mark.parametrize("resources", [name for name in RESOURCES if "null" not in name and "filled" not in name])
def test_an_injected_pod_matches_the_schema_of_kubernetes(resources: str) -> None:
    before = pod(
        containers=[container(resources=copy.deepcopy(RESOURCES[resources])), container("other")],
        annotations={"llmfit.ai/containers": "server,other,setup"},
        initContainers=[container("setup", restartPolicy="Always")],
        resourceClaims=[{"name": "nic", "resourceClaimTemplateName": "nic"}],
    )
    assert_valid(before)
    assert_valid(patched(before, mutate(before)))
