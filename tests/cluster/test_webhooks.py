"""Webhook registration: in effect when it says so, for annotated objects only, and gone afterwards."""

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
def asked() -> list[JsonObject]:
    """The requests that `recorder` was sent."""
    return []


@pytest.fixture
def recorder(asked: list[JsonObject]) -> Iterator[StubWebhook]:
    """A webhook that lets everything pass with a warning, and records it."""
    lock = threading.Lock()

    def decide(request: JsonObject) -> JsonObject:
        with lock:
            asked.append(request)
        return allow(warnings=['as "asked"'])

    with StubWebhook(decide) as webhook:
        yield webhook


def test_annotated_pods_are_sent_and_others_are_not(
    controlplane: ControlPlane, namespace: Namespace, recorder: StubWebhook, asked: list[JsonObject]
) -> None:
    earlier = {webhook: call_count(controlplane, webhook) for webhook in (MUTATING, VALIDATING)}
    with registered(controlplane, recorder.url, recorder.ca):
        before = call_count(controlplane, MUTATING)
        # In effect: both have been seen to be called.
        assert before > earlier[MUTATING]
        assert call_count(controlplane, VALIDATING) > earlier[VALIDATING]
        asked.clear()
        namespace.create(pod("plain"))
        namespace.create(pod("other", annotations={"some": "annotation"}))
        assert asked == []
        assert call_count(controlplane, MUTATING) == before
        namespace.create(pod("annotated", annotations=ANNOTATED))
        assert [(sent["name"], sent["namespace"], sent["operation"]) for sent in asked] == [
            ("annotated", namespace.name, "CREATE")
        ] * 2
        asked.clear()
        namespace.delete_pod("annotated")
        assert asked == []


def test_annotated_templates_are_sent_for_validation(
    controlplane: ControlPlane, namespace: Namespace, recorder: StubWebhook, asked: list[JsonObject]
) -> None:
    with registered(controlplane, recorder.url, recorder.ca):
        asked.clear()
        for manifest in (deployment("web", 0), cron_job("plain")):
            namespace.create(manifest)
        assert asked == []
        before = call_count(controlplane, VALIDATING_TEMPLATES)
        for manifest in (deployment("fit", 0, ANNOTATED), cron_job("fit", ANNOTATED)):
            namespace.create(manifest)
        # Nobody is asked about the ReplicaSet, nor about the annotation that the Deployment gets with it.
        wait_for(
            "there is a ReplicaSet", lambda: namespace.api.list(namespace.path("ReplicaSet")), lambda it: len(it) == 2
        )
        assert [(sent["kind"]["kind"], sent["operation"]) for sent in asked] == [
            ("Deployment", "CREATE"),
            ("CronJob", "CREATE"),
        ]
        assert call_count(controlplane, VALIDATING_TEMPLATES) == before + 2


def test_it_is_out_of_effect_after_the_with(
    controlplane: ControlPlane, namespace: Namespace, recorder: StubWebhook, asked: list[JsonObject]
) -> None:
    with registered(controlplane, recorder.url, recorder.ca):
        pass
    asked.clear()
    namespace.create(pod("annotated", annotations=ANNOTATED))
    assert asked == []


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_webhook_that_is_down_is_in_effect_as_well(
    controlplane: ControlPlane, namespace: Namespace, recorder: StubWebhook, policy: str
) -> None:
    nobody = f"https://127.0.0.1:{free_port()}"
    with registered(controlplane, nobody, recorder.ca, failure_policy="Fail" if policy == "Fail" else "Ignore"):
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
    nobody = f"https://127.0.0.1:{free_port()}"
    with registered(controlplane, nobody, recorder.ca, failure_policy=policy):
        namespace.api.send("POST", namespace.path("Pod"), pod("annotated", annotations=ANNOTATED))
    prometheus.scrape(1200, {"apiserver": _counts(controlplane)})
    (rule,) = [rule for rule in _RULES if rule["alert"] == "ModelfitWebhookNotReached"]
    firing = prometheus.alert(rule)
    assert 1140 not in firing
    assert 1200 in firing


def _counts(plane: ControlPlane) -> str:
    """What the API server counts of webhooks."""
    lines = plane.metrics().splitlines()
    return "".join(f"{line}\n" for line in lines if "apiserver_admission_webhook_" in line and "_bucket" not in line)


def test_kubectl_and_the_client_show_warnings(
    controlplane: ControlPlane, namespace: Namespace, recorder: StubWebhook
) -> None:
    with registered(controlplane, recorder.url, recorder.ca, validate=False):
        manifest = pod("annotated", annotations=ANNOTATED)
        dry = ("apply", "--dry-run=server", "-n", namespace.name, "-f", "-")
        assert controlplane.kubectl(*dry, input=manifest).ok().warnings == ('as "asked"',)
        answer = namespace.api.send("POST", namespace.path("Pod"), manifest, query={"dryRun": "All"})
        assert (answer.status, answer.warnings) == (201, ('as "asked"',))
        assert namespace.pods() == []


def test_another_partys_webhook_refuses_or_changes_pods(controlplane: ControlPlane, namespace: Namespace) -> None:
    def decide(request: JsonObject) -> JsonObject:
        if request["object"]["metadata"].get("name") == "bad":
            return deny("not on a Monday")
        return allow(patch=[{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}])

    with StubWebhook(decide) as other, registered_for_pods(controlplane, other.url, other.ca, mutating=True):
        with pytest.raises(ApiError, match="not on a Monday"):
            namespace.create(pod("bad"))
        assert namespace.create(pod("good"))["metadata"]["labels"] == {"seen": "yes"}


def test_a_certificate_of_another_authority_is_not_trusted(
    controlplane: ControlPlane, namespace: Namespace, recorder: StubWebhook
) -> None:
    with (
        StubWebhook(lambda _: allow()) as other,
        registered(controlplane, recorder.url, other.ca),
        pytest.raises(ApiError, match="certificate signed by unknown authority"),
    ):
        namespace.create(pod("annotated", annotations=ANNOTATED))


def test_waiting_says_what_was_seen_last(namespace: Namespace) -> None:
    namespace.create(pod("a", nodeSelector={"no": "such-node"}))
    with pytest.raises(WaitTimeoutError, match=r"not within 1 s: pod .*/a is bound .*; last value: .*PodScheduled"):
        namespace.wait_bound("a", timeout=1)
