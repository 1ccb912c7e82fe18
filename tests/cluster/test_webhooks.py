"""Registered webhooks are in effect inside the `with` only, and are called for annotated objects only."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import yaml

from testbed.api import ApiError, JsonObject
from testbed.controlplane import ControlPlane
from testbed.namespaces import Namespace
from testbed.pods import cron_job, deployment, pod
from testbed.ports import free_port
from testbed.promql import Prometheus
from testbed.stub_webhook import StubWebhook, allow, deny
from testbed.waiting import WaitTimeoutError, wait_for
from testbed.webhooks import (
    ANNOTATION,
    CPU_ONLY_FIT,
    MUTATING,
    VALIDATING,
    VALIDATING_TEMPLATES,
    FailurePolicy,
    call_count,
    registered,
    registered_for_pods,
)
from tools.generate.chart_values import CHART

pytestmark = pytest.mark.cluster

ANNOTATED = {ANNOTATION: CPU_ONLY_FIT}

_ALERTS = CHART / "files" / "alerts" / "modelfit.yaml"
_RULES = [rule for group in yaml.safe_load(_ALERTS.read_text())["groups"] for rule in group["rules"]]


@pytest.fixture
def requests() -> list[JsonObject]:
    """The requests that `recorder` received."""
    return []


@pytest.fixture
def recorder(requests: list[JsonObject]) -> Iterator[StubWebhook]:
    """A webhook that allows and records every request, with a warning."""
    lock = threading.Lock()

    def decide(request: JsonObject) -> JsonObject:
        with lock:
            requests.append(request)
        return allow(warnings=['a "quoted" word'])

    with StubWebhook(decide) as webhook:
        yield webhook


def test_annotated_pods_are_sent_and_others_are_not(
    controlplane: ControlPlane, namespace: Namespace, recorder: StubWebhook, requests: list[JsonObject]
) -> None:
    earlier = {webhook: call_count(controlplane, webhook) for webhook in (MUTATING, VALIDATING)}
    with registered(controlplane, recorder.url, recorder.ca):
        before = call_count(controlplane, MUTATING)
        # In effect: both were called.
        assert before > earlier[MUTATING]
        assert call_count(controlplane, VALIDATING) > earlier[VALIDATING]
        requests.clear()
        namespace.create(pod("plain"))
        namespace.create(pod("other", annotations={"some": "annotation"}))
        assert requests == []
        assert call_count(controlplane, MUTATING) == before
        namespace.create(pod("annotated", annotations=ANNOTATED))
        assert [(sent["name"], sent["namespace"], sent["operation"]) for sent in requests] == [
            ("annotated", namespace.name, "CREATE")
        ] * 2
        requests.clear()
        namespace.delete_pod("annotated")
        assert requests == []


def test_annotated_templates_are_sent_for_validation(
    controlplane: ControlPlane, namespace: Namespace, recorder: StubWebhook, requests: list[JsonObject]
) -> None:
    with registered(controlplane, recorder.url, recorder.ca):
        requests.clear()
        for manifest in (deployment("web", 0), cron_job("plain")):
            namespace.create(manifest)
        assert requests == []
        before = call_count(controlplane, VALIDATING_TEMPLATES)
        for manifest in (deployment("fit", 0, ANNOTATED), cron_job("fit", ANNOTATED)):
            namespace.create(manifest)
        # The ReplicaSet causes no call, nor does the annotation that the Deployment gets with it.
        wait_for(
            "the ReplicaSets exist",
            lambda: namespace.api.list(namespace.path("ReplicaSet")),
            lambda found: len(found) == 2,
        )
        assert [(sent["kind"]["kind"], sent["operation"]) for sent in requests] == [
            ("Deployment", "CREATE"),
            ("CronJob", "CREATE"),
        ]
        assert call_count(controlplane, VALIDATING_TEMPLATES) == before + 2


def test_after_the_with_the_webhook_is_not_called(
    controlplane: ControlPlane, namespace: Namespace, recorder: StubWebhook, requests: list[JsonObject]
) -> None:
    with registered(controlplane, recorder.url, recorder.ca):
        pass
    requests.clear()
    namespace.create(pod("annotated", annotations=ANNOTATED))
    assert requests == []


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_webhook_that_is_down_is_in_effect_with_its_failure_policy(
    controlplane: ControlPlane, namespace: Namespace, recorder: StubWebhook, policy: str
) -> None:
    unused_address = f"https://127.0.0.1:{free_port()}"
    with registered(controlplane, unused_address, recorder.ca, failure_policy="Fail" if policy == "Fail" else "Ignore"):
        namespace.create(pod("plain"))
        if policy == "Ignore":
            namespace.create(pod("annotated", annotations=ANNOTATED))
        else:
            with pytest.raises(ApiError, match=f'failed calling webhook "{MUTATING}".*connection refused'):
                namespace.create(pod("annotated", annotations=ANNOTATED))


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_the_api_servers_own_count_of_failed_calls_raises_the_alert(
    controlplane: ControlPlane, namespace: Namespace, recorder: StubWebhook, policy: FailurePolicy
) -> None:
    prometheus = Prometheus()
    before = _counts(controlplane)
    for at in range(0, 1200, 60):
        prometheus.scrape(at, {"apiserver": before})
    unused_address = f"https://127.0.0.1:{free_port()}"
    with registered(controlplane, unused_address, recorder.ca, failure_policy=policy):
        namespace.api.send("POST", namespace.path("Pod"), pod("annotated", annotations=ANNOTATED))
    prometheus.scrape(1200, {"apiserver": _counts(controlplane)})
    (rule,) = [rule for rule in _RULES if rule["alert"] == "ModelfitWebhookCallsFailing"]
    firing = prometheus.alert(rule)
    assert 1140 not in firing
    assert 1200 in firing


def _counts(plane: ControlPlane) -> str:
    """The API server's webhook metrics."""
    lines = plane.metrics().splitlines()
    return "".join(f"{line}\n" for line in lines if "apiserver_admission_webhook_" in line and "_bucket" not in line)


def test_kubectl_and_the_client_show_warnings(
    controlplane: ControlPlane, namespace: Namespace, recorder: StubWebhook
) -> None:
    with registered(controlplane, recorder.url, recorder.ca, validate=False):
        manifest = pod("annotated", annotations=ANNOTATED)
        dry = ("apply", "--dry-run=server", "-n", namespace.name, "-f", "-")
        assert controlplane.kubectl(*dry, input=manifest).ok().warnings == ('a "quoted" word',)
        answer = namespace.api.send("POST", namespace.path("Pod"), manifest, query={"dryRun": "All"})
        assert (answer.status, answer.warnings) == (201, ('a "quoted" word',))
        assert namespace.pods() == []


def test_another_partys_webhook_denies_or_patches_pods(controlplane: ControlPlane, namespace: Namespace) -> None:
    def decide(request: JsonObject) -> JsonObject:
        if request["object"]["metadata"].get("name") == "bad":
            return deny("not on a Monday")
        return allow(patch=[{"op": "add", "path": "/metadata/labels", "value": {"patched": "yes"}}])

    with StubWebhook(decide) as other, registered_for_pods(controlplane, other.url, other.ca, mutating=True):
        with pytest.raises(ApiError, match="not on a Monday"):
            namespace.create(pod("bad"))
        assert namespace.create(pod("good"))["metadata"]["labels"] == {"patched": "yes"}


def test_a_certificate_of_another_ca_is_not_trusted(
    controlplane: ControlPlane, namespace: Namespace, recorder: StubWebhook
) -> None:
    with (
        StubWebhook(lambda _: allow()) as other,
        registered(controlplane, recorder.url, other.ca),
        pytest.raises(ApiError, match="certificate signed by unknown authority"),
    ):
        namespace.create(pod("annotated", annotations=ANNOTATED))


def test_a_wait_timeout_reports_the_last_value(namespace: Namespace) -> None:
    namespace.create(pod("a", nodeSelector={"no": "such-node"}))
    with pytest.raises(WaitTimeoutError, match=r"not within 1 s: pod .*/a is bound .*; last value: .*PodScheduled"):
        namespace.wait_bound("a", timeout=1)
