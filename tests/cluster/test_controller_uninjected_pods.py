"""While the webhook is down: under Fail, annotated pods are denied; under Ignore, they are reported. Other pods are
unaffected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.api import ApiError
from testbed.controllers import running_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED
from testbed.namespaces import Namespace
from testbed.paths import path
from testbed.pods import deployment, pod
from testbed.programs import WebhookServer, webhook_server
from testbed.waiting import consistently, wait_for
from testbed.webhooks import MUTATING, VALIDATING, call_count, registered

pytestmark = pytest.mark.cluster

CPU_ONLY = {"llmfit.ai/model-fit": '{"model": "tiny", "min_ram_gb": 1, "min_vram_gb": 0}'}
SCAN_EVERY_SECOND = {"MODELFIT_UNINJECTED_SCAN_SECONDS": "1"}


@pytest.fixture
def dead(controlplane: ControlPlane) -> Iterator[WebhookServer]:
    """A webhook that is registered under Fail and was killed."""
    server = webhook_server()
    server.start()
    try:
        with registered(controlplane, server.url, server.files.ca.read_bytes()):
            server.process.kill()
            yield server
    finally:
        server.process.kill()


def webhook_calls(plane: ControlPlane) -> float:
    """Calls of both webhooks, successful or not, from the API server's metrics."""
    return sum(call_count(plane, webhook) for webhook in (MUTATING, VALIDATING))


def test_under_fail_an_annotated_pod_is_denied_and_others_are_created(
    controlplane: ControlPlane, dead: WebhookServer, namespace: Namespace
) -> None:
    before = webhook_calls(controlplane)
    namespace.create(pod("plain"))
    namespace.create(pod("otherwise-annotated", annotations={"llmfit.ai/profile": "nvidia"}))
    assert webhook_calls(controlplane) == before
    with pytest.raises(ApiError, match="failed calling webhook"):
        namespace.create(pod("llama", annotations=ANNOTATED))
    assert webhook_calls(controlplane) > before


def test_a_deployment_gets_its_pods_when_the_webhook_returns(
    controlplane: ControlPlane, webhook: WebhookServer, namespace: Namespace
) -> None:
    with running_controller(controlplane):
        namespace.create(deployment("before", 1, ANNOTATED))
        namespace.wait_claims(1)
        webhook.process.kill()
        namespace.delete_pod(namespace.pods()[0]["metadata"]["name"])
        consistently("no pod is created", namespace.pods, lambda pods: not pods, seconds=2)
        webhook.start()
        # After the ReplicaSet's back-off.
        wait_for("the pod exists again", namespace.pods, timeout=60)
        namespace.wait_claims(1)


def test_pods_without_the_annotation_cause_no_webhook_call(
    controlplane: ControlPlane, webhook: WebhookServer, namespace: Namespace
) -> None:
    before = webhook_calls(controlplane)
    for number in range(50):
        namespace.create(pod(f"plain-{number}"))
    made = path("Pod", namespace.name, "plain-0")
    namespace.api.patch(made, {"metadata": {"labels": {"changed": "yes"}}})
    namespace.set_phase("plain-0", "Running")
    namespace.delete_pod("plain-0")
    assert webhook_calls(controlplane) == before


def test_under_ignore_an_event_reports_an_uninjected_pod_once(controlplane: ControlPlane, namespace: Namespace) -> None:
    disabled = Namespace(controlplane.api(), labels={"llmfit.ai/inject": "disabled"})
    server = webhook_server()
    server.start()
    ca = server.files.ca.read_bytes()
    with registered(controlplane, server.url, ca, failure_policy="Ignore"):
        server.process.kill()
        namespace.create(pod("llama", annotations=ANNOTATED))
        namespace.create(pod("wrong", annotations={"llmfit.ai/model-fit": "{"}))
        namespace.create(pod("tiny", annotations=CPU_ONLY))
        namespace.create(pod("disabled", annotations=ANNOTATED, labels={"llmfit.ai/inject": "disabled"}))
        namespace.create(pod("plain"))
        namespace.create(pod("finished", annotations=ANNOTATED))
        namespace.set_phase("finished", "Succeeded")
        disabled.create(pod("llama", annotations=ANNOTATED))
        try:
            with running_controller(controlplane, environment=SCAN_EVERY_SECOND) as ours:
                (event,) = wait_for(
                    "the pod has its Event", lambda: namespace.events(name="llama", reason="NotInjected")
                )
                assert event["type"] == "Warning"
                assert event["involvedObject"]["uid"] == namespace.pod("llama")["metadata"]["uid"]
                assert "claims cannot be added to an existing pod: delete and recreate it" in event["message"]
                wait_for("so has the one with a wrong fit", lambda: namespace.events(name="wrong"))
                # Each pod is scanned repeatedly and reported once.
                consistently(
                    "there are two Events",
                    lambda: [each["count"] for each in namespace.events(reason="NotInjected")],
                    lambda counts: counts == [1, 1],
                    seconds=4,
                )
                # The metric counts them for as long as they exist.
                wait_for("both pods are counted", lambda: ours.metric("modelfit_pods_not_injected") == 2)
                namespace.delete_pod("wrong")
                wait_for("one pod is left", lambda: ours.metric("modelfit_pods_not_injected") == 1)
                assert disabled.events(reason="NotInjected") == []
                assert namespace.claims() == []
            # After a restart the Events are not written again as new ones.
            with running_controller(controlplane, environment=SCAN_EVERY_SECOND):
                consistently(
                    "there are two Events",
                    lambda: len(namespace.events(reason="NotInjected")),
                    lambda count: count == 2,
                    seconds=3,
                )
        finally:
            disabled.close()


def test_annotating_an_existing_pod_causes_a_warning_and_an_event(
    controlplane: ControlPlane, namespace: Namespace
) -> None:
    server = webhook_server()
    try:
        server.start()
        namespace.create(pod("llama"))
        change = f"llmfit.ai/model-fit={ANNOTATED['llmfit.ai/model-fit']}"
        with registered(controlplane, server.url, server.files.ca.read_bytes()):
            result = controlplane.kubectl("annotate", "pod", "llama", "--namespace", namespace.name, change).ok()
        assert [each for each in result.warnings if "claims cannot be added to an existing pod" in each]
        with running_controller(controlplane, environment=SCAN_EVERY_SECOND):
            (event,) = wait_for("the pod has its Event", lambda: namespace.events(name="llama", reason="NotInjected"))
        assert "the pod bypassed the webhook, or was annotated after it was created" in event["message"]
        assert "claims cannot be added to an existing pod: delete and recreate it" in event["message"]
    finally:
        server.process.kill()
