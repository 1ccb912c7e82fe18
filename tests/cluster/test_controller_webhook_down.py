"""While no webhook answers: annotated pods wait or are told about, and nobody else notices."""

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
OFTEN = {"MODELFIT_UNINJECTED_SCAN_SECONDS": "1"}


@pytest.fixture
def dead(controlplane: ControlPlane) -> Iterator[WebhookServer]:
    """A webhook that is registered under Fail, worked, and is gone."""
    server = webhook_server()
    server.start()
    try:
        with registered(controlplane, server.url, server.files.ca.read_bytes()):
            server.process.kill()
            yield server
    finally:
        server.process.kill()


def attempts(plane: ControlPlane) -> float:
    """Calls of our webhooks that the API server made or tried, by its own count."""
    return sum(call_count(plane, webhook) for webhook in (MUTATING, VALIDATING))


def test_under_fail_an_annotated_pod_is_refused_and_others_are_created_at_once(
    controlplane: ControlPlane, dead: WebhookServer, namespace: Namespace
) -> None:
    before = attempts(controlplane)
    namespace.create(pod("plain"))
    namespace.create(pod("otherwise-annotated", annotations={"llmfit.ai/profile": "nvidia"}))
    assert attempts(controlplane) == before
    with pytest.raises(ApiError, match="failed calling webhook"):
        namespace.create(pod("llama", annotations=ANNOTATED))
    assert attempts(controlplane) > before


def test_a_deployment_gets_its_pods_when_the_webhook_is_back(
    controlplane: ControlPlane, webhook: WebhookServer, namespace: Namespace
) -> None:
    with running_controller(controlplane):
        namespace.create(deployment("before", 1, ANNOTATED))
        namespace.wait_claims(1)
        webhook.process.kill()
        namespace.delete_pod(namespace.pods()[0]["metadata"]["name"])
        consistently("no pod is created", namespace.pods, lambda pods: not pods, seconds=2)
        webhook.start()
        # The ReplicaSet's own back-off decides when.
        wait_for("the pod is there again", namespace.pods, timeout=60)
        namespace.wait_claims(1)


def test_pods_without_the_annotation_cause_no_call(
    controlplane: ControlPlane, webhook: WebhookServer, namespace: Namespace
) -> None:
    before = attempts(controlplane)
    for number in range(50):
        namespace.create(pod(f"plain-{number}"))
    made = path("Pod", namespace.name, "plain-0")
    namespace.api.patch(made, {"metadata": {"labels": {"changed": "yes"}}})
    namespace.set_phase("plain-0", "Running")
    namespace.delete_pod("plain-0")
    assert attempts(controlplane) == before


def test_under_ignore_an_event_says_that_the_pod_was_not_injected(
    controlplane: ControlPlane, namespace: Namespace
) -> None:
    left_alone = Namespace(controlplane.api(), labels={"llmfit.ai/inject": "disabled"})
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
        left_alone.create(pod("llama", annotations=ANNOTATED))
        try:
            with running_controller(controlplane, environment=OFTEN) as ours:
                (event,) = wait_for(
                    "the pod has its Event", lambda: namespace.events(name="llama", reason="NotInjected")
                )
                assert event["type"] == "Warning"
                assert event["involvedObject"]["uid"] == namespace.pod("llama")["metadata"]["uid"]
                assert "claims cannot be added to an existing pod: delete and recreate it" in event["message"]
                wait_for("so has the one with a wrong fit", lambda: namespace.events(name="wrong"))
                # Looked at again and again, told about once.
                consistently(
                    "there are two Events",
                    lambda: [each["count"] for each in namespace.events(reason="NotInjected")],
                    lambda counts: counts == [1, 1],
                    seconds=4,
                )
                # A level, for as long as they are there.
                wait_for("both are counted", lambda: ours.metric("modelfit_pods_not_injected") == 2)
                namespace.delete_pod("wrong")
                wait_for("one is left", lambda: ours.metric("modelfit_pods_not_injected") == 1)
                assert left_alone.events(reason="NotInjected") == []
                assert namespace.claims() == []
            # Neither does a controller that was started again begin anew.
            with running_controller(controlplane, environment=OFTEN):
                consistently(
                    "there are two Events",
                    lambda: len(namespace.events(reason="NotInjected")),
                    lambda count: count == 2,
                    seconds=3,
                )
        finally:
            left_alone.close()


def test_an_annotation_that_comes_after_the_pod_is_told_of_at_once_and_in_an_event(
    controlplane: ControlPlane, namespace: Namespace
) -> None:
    server = webhook_server()
    try:
        server.start()
        namespace.create(pod("llama"))
        change = f"llmfit.ai/model-fit={ANNOTATED['llmfit.ai/model-fit']}"
        with registered(controlplane, server.url, server.files.ca.read_bytes()):
            said = controlplane.kubectl("annotate", "pod", "llama", "--namespace", namespace.name, change).ok()
        assert [each for each in said.warnings if "claims cannot be added to an existing pod" in each]
        with running_controller(controlplane, environment=OFTEN):
            (event,) = wait_for("the pod has its Event", lambda: namespace.events(name="llama", reason="NotInjected"))
        assert "the pod bypassed the webhook, or was annotated after it was created" in event["message"]
        assert "claims cannot be added to an existing pod: delete and recreate it" in event["message"]
    finally:
        server.process.kill()
