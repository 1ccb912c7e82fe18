"""A second call for the same pod, with another uid and after other webhooks, adds nothing."""

import copy

import pytest

from tests.core.builders import CLAIM, CPU_FIT, FIT, REMOVED, Json, admitted, container, mutate, patched, pod, validate
from webhook.core.admission_config import AdmissionConfig
from webhook.reasons import Reason

PODS: dict[str, Json] = {
    "bare": pod(),
    "generated": pod(metadata={"name": REMOVED, "generateName": "web-7c9f-"}),
    "nameless": pod(metadata={"name": REMOVED}),
    "several": pod(
        containers=[container("a"), container("b"), container("c")], annotations={"llmfit.ai/containers": "b,c"}
    ),
    "sidecar-first": pod(containers=[container("istio-proxy"), container("server")]),
    "two-workloads": pod(containers=[container("metrics"), container("server", image="ollama/ollama")]),
    "init": pod(annotations={"llmfit.ai/containers": "load"}, initContainers=[container("load")]),
    "limited": pod(containers=[container(resources={"limits": {"memory": "20Gi"}})]),
    "default": pod(
        containers=[container("a"), container("b")], annotations={"kubectl.kubernetes.io/default-container": "b"}
    ),
    "gpu only": pod('{"vram_gb": 8}'),
}  # fmt: skip
ALL = PODS | {"cpu": pod(CPU_FIT), "cpu-two": pod(CPU_FIT, containers=[container("server"), container("metrics")])}


@pytest.mark.parametrize("memory_requests", ["fill", "ignore"])
@pytest.mark.parametrize("name", ALL)
def test_an_injected_pod_gets_no_second_patch(name: str, memory_requests: str) -> None:
    config = AdmissionConfig(memory_requests=memory_requests, device_count_variable="GPUS")  # type: ignore[arg-type]
    after = admitted(ALL[name], config)
    again = mutate(after, config, uid="another-uid")
    assert again.allowed
    assert again.patch == ()
    assert again.reason == (Reason.CPU_ONLY if name.startswith("cpu") else Reason.ALREADY_INJECTED)
    assert not [warning for warning in again.warnings if "claim" in warning]


@pytest.mark.parametrize("name", PODS)
def test_the_second_call_keeps_the_claim(name: str) -> None:
    first = mutate(PODS[name])
    again = mutate(patched(PODS[name], first), uid="another-uid")
    assert again.claim == first.claim
    assert first.claim is not None


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("inserted", ["istio-proxy", "an-unknown-sidecar"])
def test_a_container_inserted_by_another_webhook_gets_no_patch(name: str, inserted: str) -> None:
    after = admitted(ALL[name])
    after["spec"]["containers"].insert(0, container(inserted))
    assert mutate(after, uid="another-uid").patch == ()


@pytest.mark.parametrize("name", PODS)
def test_label_and_annotation_removed_by_another_webhook_are_restored(name: str) -> None:
    whole = admitted(PODS[name])
    for kind, key in (("labels", "llmfit.ai/injected"), ("annotations", "llmfit.ai/claim")):
        after = copy.deepcopy(whole)
        del after["metadata"][kind][key]
        decision = mutate(after, uid="another-uid")
        assert decision.reason == Reason.INJECTED
        assert patched(after, decision) == whole


def test_forged_annotations_are_replaced() -> None:
    forged = {f"llmfit.ai/{key}": "forged" for key in ("claim", "resources", "injected-into")}
    before = pod(annotations=forged, metadata={"labels": {"llmfit.ai/injected": "false"}})
    assert admitted(before) == admitted(pod(metadata={"labels": {}}))


def test_a_pod_with_the_label_but_no_claim_is_injected() -> None:
    before = pod(metadata={"labels": {"llmfit.ai/injected": "true"}}, annotations={"llmfit.ai/claim": CLAIM})
    after = admitted(before)
    assert after["spec"]["resourceClaims"] == [{"name": "modelfit", "resourceClaimName": CLAIM}]
    assert after["spec"]["containers"][0]["resources"]["claims"] == [{"name": "modelfit"}]


def test_a_dry_run_gets_the_same_decision() -> None:
    for target in ALL.values():
        assert mutate(target, dryRun=True) == mutate(target) == mutate(target, dryRun=None)


@pytest.mark.parametrize("name", ALL)
def test_validate_allows_every_injected_pod(name: str) -> None:
    decision = validate(admitted(ALL[name]))
    assert (decision.allowed, decision.reason, decision.patch) == (True, Reason.VALID, ())


def test_replicas_never_share_a_claim() -> None:
    replica = pod(FIT, metadata={"name": REMOVED, "generateName": "web-7c9f-"})
    assert mutate(replica).claim != mutate(replica, uid="another-uid").claim
    assert mutate(replica).claim == mutate(replica).claim == CLAIM
