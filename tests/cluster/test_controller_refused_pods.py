"""A pod that is denied after the webhook has injected it never gets a claim."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.api import ApiError, JsonObject
from testbed.controllers import Controller, running_webhook_and_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED, wait_each_pod_has_its_claim
from testbed.namespaces import Namespace
from testbed.pods import deployment, pod
from testbed.stub_webhook import StubWebhook, deny
from testbed.waiting import consistently, wait_for
from testbed.webhooks import MUTATING, call_count, registered_for_pods

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def cluster(controlplane: ControlPlane) -> Iterator[Controller]:
    with running_webhook_and_controller(controlplane) as ours:
        yield ours


def refused(plane: ControlPlane, namespace: Namespace, manifest: JsonObject | None = None) -> str:
    """Creates an annotated pod that the webhook injects and a later step denies, and checks that no claim is created.
    The message of the denial."""
    before = call_count(plane, MUTATING)
    with pytest.raises(ApiError) as raised:
        namespace.create(manifest or pod("llama", annotations=ANNOTATED))
    assert call_count(plane, MUTATING) > before
    consistently("there is no claim", namespace.claims, lambda claims: not claims, seconds=2)
    assert namespace.pods() == []
    return raised.value.message


def test_a_pod_over_its_quota_leaves_no_claim(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace
) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    namespace.create(quota)
    used = namespace.path("ResourceQuota", "none")
    wait_for("the quota is in effect", lambda: namespace.api.get(used).get("status", {}).get("hard"))
    assert "exceeded quota" in refused(controlplane, namespace)


def test_a_pod_that_pod_security_denies_leaves_no_claim(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace
) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    strict = Namespace(controlplane.api(), labels=labels)
    try:
        assert "violates PodSecurity" in refused(controlplane, strict)
    finally:
        strict.close()


def test_a_pod_that_another_webhook_denies_leaves_no_claim(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace
) -> None:
    with (
        StubWebhook(lambda request: deny("not here")) as other,
        registered_for_pods(controlplane, other.url, other.ca),
    ):
        assert "not here" in refused(controlplane, namespace)


def test_a_deployment_whose_pods_are_denied_repeatedly_leaves_no_claim(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace
) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "two"}, "spec": {"hard": {"pods": "2"}}}
    namespace.create(quota)
    used = namespace.path("ResourceQuota", "two")
    wait_for("the quota is in effect", lambda: namespace.api.get(used).get("status", {}).get("hard"))
    before = call_count(controlplane, MUTATING)
    namespace.create(deployment("llama", 5, ANNOTATED))
    wait_for("more pods were injected than the quota allows", lambda: call_count(controlplane, MUTATING) > before + 4)
    assert len(wait_each_pod_has_its_claim(namespace)) == 2
    consistently("there is a claim per pod", namespace.claims, lambda claims: len(claims) == 2, seconds=2)
