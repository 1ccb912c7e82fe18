"""Pods that a tenant forges get no claim that the webhook would not have announced: the controller honours the
webhook's exemptions, and what the webhook has set cannot be changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.api import ApiError, JsonObject
from testbed.claims import claim, request
from testbed.controllers import NO_LEADER_ELECTION, Controller, running_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import FIT, injected_pod, managed_claims, owner_uids
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.programs import webhook_server
from testbed.waiting import consistently, wait_for
from testbed.webhooks import registered

pytestmark = pytest.mark.cluster

NAME = "llama-7b-claim-0123456789"
FORGED = {"llmfit.ai/model-fit": FIT, "llmfit.ai/claim": NAME}
GREEDY = {**FORGED, "llmfit.ai/device-count": "32"}
INJECTED = {"llmfit.ai/injected": "true"}
MERGE_PATCH = "application/merge-patch+json"


@pytest.fixture(scope="module")
def included(controlplane: ControlPlane) -> Iterator[Namespace]:
    """The only namespace, besides `excluded`, that the controller serves."""
    made = Namespace(controlplane.api())
    yield made
    made.close()


@pytest.fixture(scope="module")
def excluded(controlplane: ControlPlane) -> Iterator[Namespace]:
    made = Namespace(controlplane.api())
    yield made
    made.close()


@pytest.fixture(scope="module")
def ours(controlplane: ControlPlane, included: Namespace, excluded: Namespace) -> Iterator[Controller]:
    environment = {
        "MODELFIT_INCLUDED_NAMESPACES": f"[{included.name}, {excluded.name}]",
        "MODELFIT_EXCLUDED_NAMESPACES": f"[{excluded.name}]",
        "MODELFIT_MAX_DEVICES_PER_POD": "4",
    }
    with running_controller(controlplane, environment=environment) as started:
        yield started


def only_the_honest_pod_gets_a_claim(served: Namespace, *others: Namespace) -> None:
    """An injected pod, created last, gets its claim, and no other pod does."""
    made = served.create(injected_pod("honest"))
    wait_for("the honest pod has its claim", lambda: managed_claims(served))
    for namespace in (served, *others):
        expected = [made["metadata"]["uid"]] if namespace is served else []
        consistently(
            "no other pod has a claim",
            lambda: owner_uids(managed_claims(namespace)),  # noqa: B023
            lambda uids: uids == expected,  # noqa: B023
            seconds=1,
        )
    served.delete_pod("honest")
    served.wait_claims(0)


def test_namespaces_that_are_excluded_or_not_included_get_no_claims(
    ours: Controller, included: Namespace, excluded: Namespace, namespace: Namespace
) -> None:
    for each in (excluded, namespace):
        each.create(injected_pod("forged", claim=NAME, annotations=FORGED))
    only_the_honest_pod_gets_a_claim(included, excluded, namespace)


def test_a_forged_pod_in_an_exempt_namespace_gets_no_claim(controlplane: ControlPlane, namespace: Namespace) -> None:
    """kube-system is excluded by default, the label excludes others."""
    disabled = Namespace(controlplane.api(), labels={"llmfit.ai/inject": "disabled"})
    system = "kube-system"
    api = controlplane.api()
    with running_controller(controlplane, environment=NO_LEADER_ELECTION):
        for name in (disabled.name, system):
            api.create(injected_pod("forged", claim=NAME, annotations=GREEDY), name)
            api.create(pod("no-entry", annotations=GREEDY, labels=INJECTED), name)
        try:
            only_the_honest_pod_gets_a_claim(namespace, disabled)
            in_system = namespace.path("ResourceClaim").replace(namespace.name, system)
            assert api.list(in_system) == []
        finally:
            for name in ("forged", "no-entry"):
                api.delete(namespace.path("Pod", name).replace(namespace.name, system), force=True)
            disabled.close()


def test_a_pod_with_more_devices_than_the_operator_allows_gets_an_event(ours: Controller, included: Namespace) -> None:
    included.create(injected_pod("greedy", claim=NAME, annotations=GREEDY))
    (event,) = wait_for("its Event", lambda: included.events(name="greedy", reason="InvalidDeviceCount"))
    assert "want a number from 1 to 4" in event["message"]
    assert included.claims() == []
    included.delete_pod("greedy")


def test_pods_that_cannot_use_a_claim_get_none(ours: Controller, included: Namespace) -> None:
    """Without the entry in its spec, with a node from the start, as a mirror pod, or disabled."""
    bound = injected_pod("bound")
    bound["spec"]["nodeName"] = "node-1"
    mirror = pod("mirror", annotations={**FORGED, "kubernetes.io/config.mirror": "x"}, labels=INJECTED)
    mirror["spec"]["nodeName"] = "node-1"
    made = [
        bound,
        mirror,
        pod("no-entry", annotations=FORGED, labels=INJECTED),
    ]
    for each in made:
        included.create(each)
    only_the_honest_pod_gets_a_claim(included)
    for each in made:
        included.delete_pod(each["metadata"]["name"])


def test_two_hundred_changes_of_the_annotation_make_no_further_claim(ours: Controller, included: Namespace) -> None:
    made = included.create(injected_pod("llama", claim=NAME))
    for number in range(200):
        change = {"metadata": {"annotations": {"llmfit.ai/claim": f"llama-7b-claim-{number:010x}"}}}
        included.api.patch(included.path("Pod", "llama"), change, MERGE_PATCH)
    names = wait_for("its claim", lambda: [each["metadata"]["name"] for each in managed_claims(included)])
    assert names == [NAME]
    only = lambda uids: uids == [made["metadata"]["uid"]]  # noqa: E731
    consistently("there is one claim", lambda: owner_uids(managed_claims(included)), only, seconds=2)
    included.delete_pod("llama")
    included.wait_claims(0)


def test_a_disabled_pod_gets_no_event_about_a_taken_name(ours: Controller, included: Namespace) -> None:
    included.create(claim(NAME, request("gpu.nvidia.com")))
    for name in ("disabled", "waiting"):
        manifest = injected_pod(name, claim=NAME)
        if name == "disabled":
            manifest["metadata"]["labels"]["llmfit.ai/inject"] = "disabled"
        included.create(manifest)
    wait_for("the other pod has its Event", lambda: included.events(name="waiting", reason="ClaimNameTaken"))
    events = lambda: included.events(name="disabled", reason="ClaimNameTaken")  # noqa: E731
    consistently("it has none", events, lambda found: not found, seconds=2)
    # Labelled later, a pod is no longer retried.
    change = {"metadata": {"labels": {"llmfit.ai/inject": "disabled"}}}
    included.api.patch(included.path("Pod", "waiting"), change, MERGE_PATCH)
    wait_for("no pod is retried", lambda: ours.metric("modelfit_queue_retrying") == 0, timeout=90)
    for name in ("disabled", "waiting"):
        included.delete_pod(name)
    included.api.delete(included.path("ResourceClaim", NAME))


def test_what_the_webhook_has_set_cannot_be_changed_added_or_removed(
    controlplane: ControlPlane, namespace: Namespace
) -> None:
    server = webhook_server()
    try:
        server.start()
        with registered(controlplane, server.url, server.files.ca.read_bytes()):
            namespace.create(pod("llama", annotations={"llmfit.ai/model-fit": FIT}))
            namespace.create(pod("plain"))
            keys = [("labels", "llmfit.ai/injected")]
            keys += [("annotations", f"llmfit.ai/{name}") for name in ("claim", "resources", "injected-into")]
            for field, key in keys:
                for name, value in (("llama", "other"), ("llama", None), ("plain", "true")):
                    assert f"metadata.{field}[{key}]: " in refusal(namespace, name, {field: {key: value}})
            namespace.api.patch(namespace.path("Pod", "llama"), {"metadata": {"labels": {"a": "b"}}}, MERGE_PATCH)
            # An exempt pod is created without the webhook, and stays exempt.
            disabled = injected_pod("disabled")
            disabled["metadata"]["labels"]["llmfit.ai/inject"] = "disabled"
            namespace.create(disabled)
            assert "exempt" in refusal(namespace, "disabled", {"labels": {"llmfit.ai/inject": None}})
            namespace.delete_pod("llama")
    finally:
        server.process.kill()


def refusal(namespace: Namespace, name: str, metadata: JsonObject) -> str:
    """The message with which a change of a pod's metadata is refused."""
    with pytest.raises(ApiError) as raised:
        namespace.api.patch(namespace.path("Pod", name), {"metadata": metadata}, MERGE_PATCH)
    assert raised.value.reason == "InjectionChanged"
    return raised.value.message
