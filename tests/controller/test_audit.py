"""Pods that the webhook should have seen and did not."""

import pytest

from tests.controller.doubles import Script
from tests.controller.examples import pod
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.controller.events import AGAIN_SECONDS, BURST, Recorder
from webhook.controller.uninjected_pods import UninjectedPodScanner, find_uninjected
from webhook.core.admission_config import AdmissionConfig
from webhook.settings import Settings

NO_CLAIM = {"llmfit.ai/claim": None}


@pytest.fixture
def config() -> AdmissionConfig:
    return Settings().admission_config()


def messages(config: AdmissionConfig, *pods: dict[str, object]) -> list[str]:
    return [message for _, message in find_uninjected(pods, {"left-alone"}, config)]


def test_an_annotated_pod_without_injection_is_one(config: AdmissionConfig) -> None:
    (message,) = messages(config, pod(annotations=NO_CLAIM))
    assert "but without a ResourceClaim: the webhook was not asked when the pod was created, or the" in message
    assert "delete it" in message


def test_what_the_webhook_would_have_refused_is_said(config: AdmissionConfig) -> None:
    (message,) = messages(config, pod(annotations={**NO_CLAIM, "llmfit.ai/model-fit": '{"min_vram_gb": -1}'}))
    assert "would have refused it" in message
    assert "min_vram_gb" in message


@pytest.mark.parametrize(
    "fine",
    [
        pod(annotations={"llmfit.ai/model-fit": None}),
        pod(annotations={"llmfit.ai/model-fit": '{"min_ram_gb": 1, "min_vram_gb": 0}'}),
        pod(annotations={"kubernetes.io/config.mirror": "x"}),
        pod(labels={"llmfit.ai/inject": "disabled"}),
        pod(namespace="left-alone"),
        pod(deletionTimestamp="2026-01-01T00:00:00Z"),
    ],
    ids=["not annotated", "no GPU", "mirror pod", "disabled", "namespace disabled", "being deleted"],
)
def test_a_pod_that_misses_nothing_is_none(fine: dict[str, object], config: AdmissionConfig) -> None:
    assert messages(config, fine) == []


def look(audit: UninjectedPodScanner, script: Script, *pods: dict[str, object]) -> int:
    """One look at these pods; how many Events it wrote."""
    before = sum(method == "POST" for method, _ in script.calls)
    script.answers = [{"items": []}, {"items": [{"metadata": each} for each in pods]}]
    audit.look()
    return sum(method == "POST" for method, _ in script.calls) - before


def test_each_pod_is_told_about_once(config: AdmissionConfig) -> None:
    """However long it stays: not only as seldom as other Events."""
    now = [0.0]
    script = Script()
    audit = UninjectedPodScanner(script.api, config, Recorder(script.api, "host", lambda: now[0]), frozenset())
    first, second = pod(annotations=NO_CLAIM), pod(uid="uid-2", annotations=NO_CLAIM)
    written = []
    for pods in ((first,), (first, second), (first, second), (second,), (first,)):
        now[0] += 2 * AGAIN_SECONDS
        written.append(look(audit, script, *pods))
    # A pod that was not there in between is forgotten.
    assert written == [1, 1, 0, 0, 1]


def test_they_are_counted_for_as_long_as_they_are_there_told_about_or_not(config: AdmissionConfig) -> None:
    script = Script()
    audit = UninjectedPodScanner(script.api, config, Recorder(script.api, "host"), frozenset())
    crowd = [pod(uid=f"uid-{number}", annotations=NO_CLAIM) for number in range(BURST + 10)]
    found = []
    for pods in ([], crowd, crowd[:2], []):
        look(audit, script, *pods)
        found.append(audit.found)
    assert found == [0, len(crowd), 2, 0]


def test_only_what_could_concern_it_is_listed(config: AdmissionConfig) -> None:
    script = Script()
    look(UninjectedPodScanner(script.api, config, Recorder(script.api, "host"), frozenset()), script)
    namespaces, pods = (call for method, call in script.calls if method == "LIST")
    assert "llmfit.ai/inject=disabled" in namespaces
    assert "!llmfit.ai/injected" in pods
    assert "status.phase!=Succeeded,status.phase!=Failed" in pods


def test_a_list_that_fails_is_made_up_for_by_the_next(config: AdmissionConfig) -> None:
    script = Script(ApiError(ErrorReason.TIMED_OUT, "x"))
    audit = UninjectedPodScanner(script.api, config, Recorder(script.api, "host"), frozenset())
    audit.look()
    assert look(audit, script, pod(annotations=NO_CLAIM)) == 1


def test_our_own_namespace_and_the_configured_ones_are_left_alone(config: AdmissionConfig) -> None:
    script = Script()
    audit = UninjectedPodScanner(script.api, config, Recorder(script.api, "host"), frozenset({"models"}))
    assert look(audit, script, pod(annotations=NO_CLAIM)) == 0
