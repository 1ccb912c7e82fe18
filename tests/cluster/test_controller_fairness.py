"""One namespace whose claims are all refused does not delay the others. The long form is `make soak-fairness`."""

from __future__ import annotations

import pytest

from testbed.controllers import LONG_TESTS, NO_LEADER_ELECTION, running_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import create_all, injected_pod
from testbed.namespaces import Namespace
from testbed.waiting import wait_for
from tests.soak import fairness

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


def test_a_flood_of_refused_pods_does_not_delay_the_pods_of_others(controlplane: ControlPlane) -> None:
    pods, seconds = (5000, 60) if LONG_TESTS else (500, 6)
    quiet, flooded = fairness.run(controlplane, pods, seconds)
    print(f"quiet: {quiet}\nflood: {flooded}")
    assert not fairness.violations(quiet, flooded)


def test_updates_of_a_refused_pod_cause_no_additional_calls(controlplane: ControlPlane, namespace: Namespace) -> None:
    fairness.forbid_claims(namespace)
    with running_controller(controlplane, environment=NO_LEADER_ELECTION) as ours:
        namespace.create(injected_pod("llama"))
        wait_for("it was refused", lambda: fairness.refused_calls(ours))
        for number in range(300):
            patch = {"metadata": {"annotations": {"number": str(number)}}}
            namespace.api.patch(namespace.path("Pod", "llama"), patch, "application/merge-patch+json")
        # As many as the back-off allows in an hour.
        assert fairness.refused_calls(ours) < 80


@pytest.mark.parametrize("change", ["the quota is raised", "a claim is deleted"])
def test_pods_that_a_quota_refuses_get_their_claims_when_there_is_room(
    change: str, controlplane: ControlPlane, namespace: Namespace
) -> None:
    fairness.forbid_claims(namespace)
    quota = namespace.path("ResourceQuota", "no-claims")
    key = "count/resourceclaims.resource.k8s.io"

    def allow(claims: int) -> None:
        namespace.api.patch(quota, {"spec": {"hard": {key: str(claims)}}}, "application/merge-patch+json")

    allow(10)
    with running_controller(controlplane, environment=NO_LEADER_ELECTION) as ours:
        create_all(namespace, [injected_pod(f"early-{number}") for number in range(10)])
        namespace.wait_claims(10)
        create_all(namespace, [injected_pod(f"late-{number}") for number in range(10)])
        backing_off = "modelfit_namespaces_backing_off"
        wait_for("the namespace backs off", lambda: ours.metric(backing_off, reason="QuotaExceeded") == 1)
        if change == "the quota is raised":
            allow(20)
        else:
            for number in range(10):
                namespace.delete_pod(f"early-{number}")
        late = {f"late-{number}" for number in range(10)}
        wait_for(
            "the late pods have their claims",
            lambda: {owner["name"] for each in namespace.claims() for owner in each["metadata"]["ownerReferences"]},
            lambda owners: late <= owners,
            timeout=60,
        )
        assert ours.metric(backing_off) == ours.metric("modelfit_queue_retrying") == 0
