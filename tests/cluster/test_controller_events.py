"""Events report once why a pod waits for its claim. Errors that may pass are retried."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator

import pytest

from testbed.api import JsonObject
from testbed.claims import allocated, claim, request
from testbed.controllers import Controller, running_controller
from testbed.controlplane import ControlPlane
from testbed.devices import DeviceClass
from testbed.injected_pods import injected_pod, managed_claims, wait_each_pod_has_its_claim
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.paths import path
from testbed.stub_webhook import StubWebhook, deny
from testbed.waiting import consistently, wait_for
from tests.vendors import nvidia

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def ours(controlplane: ControlPlane) -> Iterator[Controller]:
    with running_controller(controlplane) as made:
        yield made


def event(namespace: Namespace, name: str, reason: str) -> JsonObject:
    """Waits for the pod's only Event of that reason."""
    (found,) = wait_for(f"pod {name} has an Event {reason}", lambda: namespace.events(name=name, reason=reason))
    assert found["type"] == "Warning"
    assert found["involvedObject"]["uid"] == namespace.pod(name)["metadata"]["uid"]
    return found


def test_a_claim_of_another_owner_is_left_alone_and_reported(ours: Controller, namespace: Namespace) -> None:
    foreign = namespace.create(claim("llama-7b-claim-0123456789", request("gpu.nvidia.com")))
    namespace.create(injected_pod("llama", claim="llama-7b-claim-0123456789"))
    reported = event(namespace, "llama", "ClaimNameTaken")
    assert "llama-7b-claim-0123456789" in reported["message"]
    assert "belongs to no pod and is left alone; this pod uses it as it is" in reported["message"]
    foreign_path = namespace.path("ResourceClaim", foreign["metadata"]["name"])
    assert namespace.api.get(foreign_path) == foreign
    # The pod gets its claim once the name is free.
    namespace.api.delete(foreign_path)
    wait_each_pod_has_its_claim(namespace, timeout=90)


def test_a_pod_that_names_the_claim_of_another_pod_shares_it_and_gets_an_event(
    ours: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    """The scheduler allows it, and deleting the claim would take the device from the first pod."""
    inventory.install(*nvidia.CLASSES)
    inventory.node(nvidia.gpu("gpu-0"), nvidia.gpu("gpu-1"))
    first = namespace.create(injected_pod("first", claim="llama-7b-claim-0123456789"))
    (made,) = wait_each_pod_has_its_claim(namespace)
    namespace.wait_bound("first")
    second = namespace.create(injected_pod("second", claim="llama-7b-claim-0123456789"))
    message = event(namespace, "second", "ClaimNameTaken")["message"]
    assert 'belongs to pod "first" and is left alone; this pod uses it as it is' in message
    assert "recreate the pod without the entry modelfit in spec.resourceClaims" in message
    namespace.wait_bound("second")
    (shared,) = managed_claims(namespace)
    assert shared["metadata"]["uid"] == made["metadata"]["uid"]
    assert len(allocated(shared)) == 1
    assert [user["uid"] for user in shared["status"]["reservedFor"]] == [
        each["metadata"]["uid"] for each in (first, second)
    ]


def test_an_exceeded_quota_is_reported_and_the_claim_is_created_when_it_is_raised(
    ours: Controller, namespace: Namespace
) -> None:
    hard = {"count/resourceclaims.resource.k8s.io": "1"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "claims"}, "spec": {"hard": hard}}
    namespace.create(quota)
    where = namespace.path("ResourceQuota", "claims")
    wait_for("the quota is in effect", lambda: namespace.api.get(where).get("status", {}).get("hard"))
    namespace.create(injected_pod("first"))
    namespace.wait_claims(1)
    namespace.create(injected_pod("second"))
    reported = event(namespace, "second", "QuotaExceeded")
    assert "a ResourceQuota of the namespace leaves no room for it" in reported["message"]
    assert "count/resourceclaims.resource.k8s.io" in reported["message"]
    wait_for("the call was retried", lambda: ours.metric("modelfit_api_failures_total", reason="QuotaExceeded") >= 4)
    assert len(namespace.events(reason="QuotaExceeded")) == 1
    assert event(namespace, "second", "QuotaExceeded")["count"] == 1
    namespace.api.patch(where, {"spec": {"hard": {"count/resourceclaims.resource.k8s.io": "2"}}})
    assert len(wait_each_pod_has_its_claim(namespace, timeout=90)) == 2


def test_the_message_of_a_policy_that_denies_claims_is_reported(
    controlplane: ControlPlane, ours: Controller, namespace: Namespace
) -> None:
    with StubWebhook(lambda review: deny("no GPUs on Sundays")) as other:
        hook = claim_webhook(controlplane, other)
        try:
            namespace.create(injected_pod("llama"))
            assert "no GPUs on Sundays" in event(namespace, "llama", "AdmissionRefused")["message"]
        finally:
            controlplane.api().delete(hook)


def claim_webhook(plane: ControlPlane, other: StubWebhook) -> str:
    """Registers the webhook for claims, and waits until it is called. The URL path of its configuration."""
    kind = "ValidatingWebhookConfiguration"
    rule = {
        "apiGroups": ["resource.k8s.io"],
        "apiVersions": ["*"],
        "resources": ["resourceclaims"],
        "operations": ["CREATE"],
    }
    hook = {
        "name": "claims.other.test",
        "clientConfig": {"url": other.url, "caBundle": base64.b64encode(other.ca).decode()},
        "rules": [rule],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    metadata = {"name": "claims.other.test"}
    api_version = "admissionregistration.k8s.io/v1"
    plane.api().create({"apiVersion": api_version, "kind": kind, "metadata": metadata, "webhooks": [hook]})
    probe = claim("probe", request("any"))
    where = path("ResourceClaim", "default")
    wait_for(
        "the other webhook is in effect",
        lambda: plane.api().send("POST", where, probe, query={"dryRun": "All"}).status,
        lambda status: status == 403,
    )
    return path(kind, None, "claims.other.test")


def test_a_missing_device_class_is_reported_and_the_claim_is_created(
    ours: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    namespace.create(injected_pod("llama"))
    reported = event(namespace, "llama", "DeviceClassMissing")
    assert '"gpu.nvidia.com": not in the cluster' in reported["message"]
    assert "install the vendor's DRA driver" in reported["message"]
    wait_each_pod_has_its_claim(namespace)
    # Once the class exists, nothing is reported.
    inventory.install(DeviceClass("gpu.nvidia.com", "true"))
    time.sleep(1)
    namespace.create(injected_pod("another"))
    wait_each_pod_has_its_claim(namespace)
    missing = {"name": "another", "reason": "DeviceClassMissing"}
    consistently("it has no Event", lambda: namespace.events(**missing), lambda events: not events, seconds=2)


def test_an_unusable_fit_is_reported_with_its_reason(ours: Controller, namespace: Namespace) -> None:
    """Its profile was removed from the settings after the pod was admitted."""
    namespace.create(injected_pod("llama", annotations={"llmfit.ai/profile": "gone"}))
    assert '"gone"' in event(namespace, "llama", "UnknownProfile")["message"]
    assert namespace.claims() == []
