"""Called twice is called once, with another uid, and after other webhooks have had their turn."""

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
    "two-workloads": pod(containers=[container("server"), container("metrics")]),
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
def test_our_own_output_is_left_as_it_is(name: str, memory_requests: str) -> None:
    config = AdmissionConfig(memory_requests=memory_requests, device_count_variable="GPUS")  # type: ignore[arg-type]
    after = admitted(ALL[name], config)
    again = mutate(after, config, uid="another-uid")
    assert again.allowed
    assert again.patch == ()
    assert again.reason == (Reason.CPU_ONLY if name.startswith("cpu") else Reason.ALREADY_INJECTED)
    assert not [warning for warning in again.warnings if "claim" in warning]


@pytest.mark.parametrize("name", PODS)
def test_the_second_call_keeps_the_first_ones_claim(name: str) -> None:
    first = mutate(PODS[name])
    again = mutate(patched(PODS[name], first), uid="another-uid")
    assert again.claim == first.claim
    assert first.claim is not None


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("inserted", ["istio-proxy", "a-sidecar-that-nobody-knows"])
def test_a_container_that_another_webhook_puts_first_changes_nothing(name: str, inserted: str) -> None:
    after = admitted(ALL[name])
    after["spec"]["containers"].insert(0, container(inserted))
    assert mutate(after, uid="another-uid").patch == ()


@pytest.mark.parametrize("name", PODS)
def test_what_another_webhook_took_away_is_put_back(name: str) -> None:
    whole = admitted(PODS[name])
    for kind, key in (("labels", "llmfit.ai/injected"), ("annotations", "llmfit.ai/claim")):
        after = copy.deepcopy(whole)
        del after["metadata"][kind][key]
        decision = mutate(after, uid="another-uid")
        assert decision.reason == Reason.INJECTED
        assert patched(after, decision) == whole


def test_annotations_that_somebody_forged_are_replaced() -> None:
    forged = {f"llmfit.ai/{key}": "forged" for key in ("claim", "resources", "injected-into")}
    before = pod(annotations=forged, metadata={"labels": {"llmfit.ai/injected": "false"}})
    assert admitted(before) == admitted(pod(metadata={"labels": {}}))


def test_a_marker_without_the_entry_injects_all_the_same() -> None:
    before = pod(metadata={"labels": {"llmfit.ai/injected": "true"}}, annotations={"llmfit.ai/claim": CLAIM})
    after = admitted(before)
    assert after["spec"]["resourceClaims"] == [{"name": "modelfit", "resourceClaimName": CLAIM}]
    assert after["spec"]["containers"][0]["resources"]["claims"] == [{"name": "modelfit"}]


def test_the_same_review_gives_the_same_answer_on_a_dry_run() -> None:
    for target in ALL.values():
        assert mutate(target, dryRun=True) == mutate(target) == mutate(target, dryRun=None)


@pytest.mark.parametrize("name", ALL)
def test_what_the_webhook_admits_the_validating_webhook_admits_too(name: str) -> None:
    decision = validate(admitted(ALL[name]))
    assert (decision.allowed, decision.reason, decision.patch) == (True, Reason.VALID, ())


def test_two_reviews_of_one_template_name_two_claims() -> None:
    replica = pod(FIT, metadata={"name": REMOVED, "generateName": "web-7c9f-"})
    assert mutate(replica).claim != mutate(replica, uid="another-uid").claim
    assert mutate(replica).claim == mutate(replica).claim == CLAIM
