"""The scanner for annotated pods that bypassed the webhook."""

import pytest

from tests.controller.sample_metadata import CLAIM_NAME, pod
from tests.controller.scripted_api import ScriptedApi
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.controller.events import BURST, REPEAT_SECONDS, Recorder
from webhook.controller.pod_reconciler import Listers
from webhook.controller.uninjected_pods import UninjectedPodScanner, find_copies, find_uninjected
from webhook.core.admission.exemptions import InjectedNamespaces
from webhook.core.admission_config import AdmissionConfig
from webhook.settings import Settings

NO_CLAIM = {"llmfit.ai/claim": None}
NAMESPACES = InjectedNamespaces(excluded={"excluded"})


@pytest.fixture
def config() -> AdmissionConfig:
    return Settings().admission_config()


@pytest.fixture
def api() -> ScriptedApi:
    return ScriptedApi()


@pytest.fixture
def scanner(api: ScriptedApi, config: AdmissionConfig) -> UninjectedPodScanner:
    return UninjectedPodScanner(api.api, config, Recorder(api.api, "host"), listers())


def listers(*claims: str) -> Listers:
    """The caches, with claims of these keys."""
    return Listers(lambda key: None, lambda key: {} if key in claims else None, dict, lambda: NAMESPACES)


def messages(config: AdmissionConfig, *pods: dict[str, object]) -> list[str]:
    return [message for _, message in find_uninjected(pods, NAMESPACES, config)]


def scan(scanner: UninjectedPodScanner, api: ScriptedApi, *pods: dict[str, object]) -> int:
    """Scans these pods. The number of Events written."""
    before = sum(method == "POST" for method, _ in api.calls)
    api.responses = [{"items": list(pods)}, {"items": []}]
    scanner.scan()
    return sum(method == "POST" for method, _ in api.calls) - before


def test_an_annotated_pod_without_injection_is_reported(config: AdmissionConfig) -> None:
    (message,) = messages(config, pod(annotations=NO_CLAIM))
    assert "the pod bypassed the webhook, or was annotated after it was created" in message
    assert "claims cannot be added to an existing pod: delete and recreate it" in message


def test_a_pod_that_the_webhook_would_have_denied_is_reported_with_the_denial(config: AdmissionConfig) -> None:
    (message,) = messages(config, pod(annotations={**NO_CLAIM, "llmfit.ai/model-fit": '{"min_vram_gb": -1}'}))
    assert "would have denied it" in message
    assert "min_vram_gb" in message


@pytest.mark.parametrize(
    "exempt",
    [
        pod(annotations={"llmfit.ai/model-fit": None}),
        pod(annotations={"llmfit.ai/model-fit": '{"min_ram_gb": 1, "min_vram_gb": 0}'}),
        pod(annotations={"kubernetes.io/config.mirror": "x"}),
        pod(labels={"llmfit.ai/inject": "disabled"}),
        pod(namespace="excluded"),
        pod(deletionTimestamp="2026-01-01T00:00:00Z"),
    ],
    ids=["not annotated", "no GPU", "mirror pod", "disabled", "excluded namespace", "being deleted"],
)
def test_a_pod_that_needs_no_injection_is_not_reported(exempt: dict[str, object], config: AdmissionConfig) -> None:
    assert messages(config, exempt) == []


def test_each_pod_is_reported_once_however_long_it_stays(config: AdmissionConfig) -> None:
    now = [0.0]
    api = ScriptedApi()
    scanner = UninjectedPodScanner(api.api, config, Recorder(api.api, "host", lambda: now[0]), listers())
    first, second = pod(annotations=NO_CLAIM), pod(uid="uid-2", annotations=NO_CLAIM)
    written = []
    for pods in ((first,), (first, second), (first, second), (second,), (first,)):
        now[0] += 2 * REPEAT_SECONDS
        written.append(scan(scanner, api, *pods))
    # A pod that was absent in between is forgotten.
    assert written == [1, 1, 0, 0, 1]


def test_found_counts_all_current_pods_even_those_without_an_event(
    scanner: UninjectedPodScanner, api: ScriptedApi
) -> None:
    crowd = [pod(uid=f"uid-{number}", annotations=NO_CLAIM) for number in range(BURST + 10)]
    found = []
    for pods in ([], crowd, crowd[:2], []):
        scan(scanner, api, *pods)
        found.append(scanner.found)
    assert found == [0, len(crowd), 2, 0]


def test_selectors_limit_the_lists(scanner: UninjectedPodScanner, api: ScriptedApi) -> None:
    scan(scanner, api)
    pods, pending = (call for method, call in api.calls if method == "LIST")
    assert "!llmfit.ai/injected" in pods
    assert "!llmfit.ai/injected" in pending
    assert "status.phase!=Succeeded,status.phase!=Failed" in pods
    assert "status.phase=Pending" in pending


COPY = {"llmfit.ai/model-fit": None, "llmfit.ai/claim": None}


def copies(config: AdmissionConfig, *pods: dict[str, object], claims: tuple[str, ...] = ()) -> list[str]:
    return [action.message for _, action in find_copies(pods, NAMESPACES, listers(*claims))]


def test_a_copy_without_annotations_of_a_pod_that_is_gone_is_reported_once(
    scanner: UninjectedPodScanner, api: ScriptedApi
) -> None:
    for written in (1, 0):
        api.responses = [{"items": []}, {"items": [pod(annotations=COPY)]}]
        api.bodies.clear()
        scanner.scan()
        assert [body["reason"] for body in api.bodies if "reason" in body] == ["ModelFitMissing"] * written
    assert scanner.found == 0


@pytest.mark.parametrize(
    "other",
    [
        pod(),
        pod(annotations=COPY, spec={"resourceClaims": [{"name": "modelfit", "resourceClaimName": "own"}]}),
        pod(annotations=COPY, spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": CLAIM_NAME}]}),
        pod(annotations=COPY, spec={"nodeName": "n"}),
        pod(annotations=COPY, labels={"llmfit.ai/inject": "disabled"}),
        pod(annotations=COPY, namespace="excluded"),
    ],
    ids=["annotated", "a claim of the user", "another alias", "bound", "disabled", "excluded namespace"],
)
def test_other_pods_are_no_copies(other: dict[str, object], config: AdmissionConfig) -> None:
    assert copies(config, other) == []


def test_a_copy_that_shares_an_existing_claim_is_not_reported(config: AdmissionConfig) -> None:
    assert copies(config, pod(annotations=COPY), claims=(f"models/{CLAIM_NAME}",)) == []
    (message,) = copies(config, pod(annotations=COPY))
    assert f'ResourceClaim "{CLAIM_NAME}" of another pod, which is gone' in message
    assert "--keep-annotations" in message


def test_pods_of_excluded_namespaces_are_not_reported(scanner: UninjectedPodScanner, api: ScriptedApi) -> None:
    assert scan(scanner, api, pod(namespace="excluded", annotations=NO_CLAIM)) == 0


def test_the_next_scan_catches_up_after_a_failed_list(scanner: UninjectedPodScanner, api: ScriptedApi) -> None:
    api.responses = [ApiError(ErrorReason.TIMED_OUT, "x")]
    scanner.scan()
    assert scan(scanner, api, pod(annotations=NO_CLAIM)) == 1
