"""What keeps a pod waiting is told on the pod, in plain words, once; and retried where that can help."""

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
    """Waits for the pod's Event of that reason; there is one."""
    (found,) = wait_for(f"pod {name} has an Event {reason}", lambda: namespace.events(name=name, reason=reason))
    assert found["type"] == "Warning"
    assert found["involvedObject"]["uid"] == namespace.pod(name)["metadata"]["uid"]
    return found


def test_a_claim_of_that_name_that_is_somebody_elses_is_left_alone_and_told_about(
    ours: Controller, namespace: Namespace
) -> None:
    foreign = namespace.create(claim("llama-7b-claim-0123456789", request("gpu.nvidia.com")))
    namespace.create(injected_pod("llama", claim="llama-7b-claim-0123456789"))
    told = event(namespace, "llama", "ClaimNameTaken")
    assert "llama-7b-claim-0123456789" in told["message"]
    assert "belongs to no pod and is left alone; this pod uses it as it is" in told["message"]
    where = namespace.path("ResourceClaim", foreign["metadata"]["name"])
    assert namespace.api.get(where) == foreign
    # It waits for the name, and takes it when it is free.
    namespace.api.delete(where)
    wait_each_pod_has_its_claim(namespace, timeout=90)


def test_a_pod_that_names_another_pods_claim_shares_it_and_is_told_so(
    ours: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    """The scheduler lets it, and to delete the claim would take the device from the first pod."""
    inventory.install(*nvidia.CLASSES)
    inventory.node(nvidia.gpu("gpu-0"), nvidia.gpu("gpu-1"))
    first = namespace.create(injected_pod("first", claim="llama-7b-claim-0123456789"))
    (made,) = wait_each_pod_has_its_claim(namespace)
    namespace.wait_bound("first")
    second = namespace.create(injected_pod("second", claim="llama-7b-claim-0123456789"))
    told = event(namespace, "second", "ClaimNameTaken")["message"]
    assert 'belongs to pod "first" and is left alone; this pod uses it as it is' in told
    assert "recreate the pod without the entry modelfit in spec.resourceClaims" in told
    namespace.wait_bound("second")
    (shared,) = managed_claims(namespace)
    assert shared["metadata"]["uid"] == made["metadata"]["uid"]
    assert len(allocated(shared)) == 1
    assert [user["uid"] for user in shared["status"]["reservedFor"]] == [
        each["metadata"]["uid"] for each in (first, second)
    ]


def test_a_quota_is_told_about_and_the_claim_comes_when_it_is_raised(ours: Controller, namespace: Namespace) -> None:
    hard = {"count/resourceclaims.resource.k8s.io": "1"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "claims"}, "spec": {"hard": hard}}
    namespace.create(quota)
    where = namespace.path("ResourceQuota", "claims")
    wait_for("the quota is in effect", lambda: namespace.api.get(where).get("status", {}).get("hard"))
    namespace.create(injected_pod("first"))
    namespace.wait_claims(1)
    namespace.create(injected_pod("second"))
    told = event(namespace, "second", "QuotaExceeded")
    assert "a ResourceQuota of the namespace leaves no room for it" in told["message"]
    assert "count/resourceclaims.resource.k8s.io" in told["message"]
    wait_for(
        "it was tried several times", lambda: ours.metric("modelfit_api_failures_total", reason="QuotaExceeded") >= 4
    )
    assert len(namespace.events(reason="QuotaExceeded")) == 1
    assert event(namespace, "second", "QuotaExceeded")["count"] == 1
    namespace.api.patch(where, {"spec": {"hard": {"count/resourceclaims.resource.k8s.io": "2"}}})
    assert len(wait_each_pod_has_its_claim(namespace, timeout=90)) == 2


def test_a_policy_that_refuses_claims_is_told_about_with_its_own_words(
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
    """Registers it for claims of this API server; its URL path. Waits until it is called."""
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


def test_an_unknown_device_class_is_told_about_and_the_claim_is_there_all_the_same(
    ours: Controller, namespace: Namespace, inventory: Inventory
) -> None:
    namespace.create(injected_pod("llama"))
    told = event(namespace, "llama", "DeviceClassMissing")
    assert '"gpu.nvidia.com": not in the cluster' in told["message"]
    assert "install the vendor's DRA driver" in told["message"]
    wait_each_pod_has_its_claim(namespace)
    # Once it is there, nobody is told any more.
    inventory.install(DeviceClass("gpu.nvidia.com", "true"))
    time.sleep(1)
    namespace.create(injected_pod("another"))
    wait_each_pod_has_its_claim(namespace)
    missing = {"name": "another", "reason": "DeviceClassMissing"}
    consistently("it has no Event", lambda: namespace.events(**missing), lambda events: not events, seconds=2)


def test_a_fit_that_cannot_be_used_is_told_about_with_its_reason(ours: Controller, namespace: Namespace) -> None:
    """Its profile was configured when the pod was admitted, and is no longer."""
    namespace.create(injected_pod("llama", annotations={"llmfit.ai/profile": "gone"}))
    assert '"gone"' in event(namespace, "llama", "UnknownProfile")["message"]
    assert namespace.claims() == []
