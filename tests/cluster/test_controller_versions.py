"""Older versions of resource.k8s.io, and a newer one that appears while the controller runs."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from testbed.api import JsonObject
from testbed.claims import allocated
from testbed.controllers import LONG_TESTS, NO_LEADER_ELECTION, controller, running_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import injected_pod, wait_each_pod_has_its_claim
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.paths import path
from testbed.servers import Options
from testbed.waiting import wait_for
from tests.vendors import nvidia

pytestmark = pytest.mark.cluster

VERSIONS = ("v1", "v1beta2", "v1beta1")
NVIDIA = "gpu.nvidia.com"


def only(*served: str) -> dict[str, bool]:
    """A --runtime-config that serves only these versions of the group."""
    return {f"resource.k8s.io/{version}": version in served for version in VERSIONS}


def written_version(namespace: Namespace, version: str, name: str) -> str:
    """The apiVersion in which the controller wrote the claim of that pod, from managedFields."""
    claim = namespace.pod(name)["metadata"]["annotations"]["llmfit.ai/claim"]
    where = path("ResourceClaim", namespace.name, claim, api_version=f"resource.k8s.io/{version}")
    managers: list[JsonObject] = namespace.api.get(where)["metadata"]["managedFields"]
    (ours,) = [entry for entry in managers if entry["manager"].startswith("modelfit-controller")]
    return str(ours["apiVersion"])


def requested_class(claim: JsonObject, version: str) -> str:
    (request,) = claim["spec"]["devices"]["requests"]
    return str((request if version == "v1beta1" else request["exactly"])["deviceClassName"])


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_claims_are_written_in_a_beta_version_until_v1_is_served(
    version: str, make_controlplane: Callable[[Options], ControlPlane]
) -> None:
    plane = make_controlplane(Options(runtime_config=only(version)))
    namespace = Namespace(plane.api(), version=version)
    inventory = Inventory(plane.api(), version)
    inventory.install(*nvidia.CLASSES)
    inventory.node(
        nvidia.gpu("gpu-0", "4Gi"), nvidia.gpu("gpu-1", None), nvidia.gpu("gpu-2", "40Gi"), nvidia.gpu("gpu-3")
    )
    # Without leader election, which would delay the controller after an outage.
    with running_controller(plane, environment=NO_LEADER_ELECTION):
        namespace.create(injected_pod("before"))
        (claim,) = wait_each_pod_has_its_claim(namespace)
        assert requested_class(claim, version) == NVIDIA
        assert written_version(namespace, version, "before") == f"resource.k8s.io/{version}"

        plane.stop_apiserver()
        plane.start_apiserver(runtime_config=only("v1", version))
        namespace.version = "v1"
        wait_for(
            "claims are written in v1",
            lambda: version_for_a_new_pod(namespace),
            lambda seen: seen == "resource.k8s.io/v1",
            timeout=60,
        )

        # Without the old version, as in the next release.
        plane.stop_apiserver()
        plane.start_apiserver(runtime_config=only("v1"))
        namespace.create(injected_pod("after"))
        wait_each_pod_has_its_claim(namespace)
        assert written_version(namespace, "v1", "after") == "resource.k8s.io/v1"
        # The scheduler of this release uses v1, so it now allocates the claim written in the old version, too.
        name = namespace.pod("before")["metadata"]["annotations"]["llmfit.ai/claim"]
        placed = wait_for(
            "the claim written in the old version is allocated",
            lambda: allocated(namespace.api.get(namespace.path("ResourceClaim", name))),
            timeout=60,
        )
        assert placed[0].device in ("gpu-2", "gpu-3")


def version_for_a_new_pod(namespace: Namespace) -> str:
    """The version in which the claim of a new pod is written."""
    made = namespace.create(injected_pod(generate_name="probe-"))["metadata"]["name"]
    wait_each_pod_has_its_claim(namespace)
    version = written_version(namespace, "v1", made)
    namespace.delete_pod(made)
    return version


def test_without_a_served_version_readyz_explains_and_the_controller_waits_for_one(
    make_controlplane: Callable[[Options], ControlPlane],
) -> None:
    plane = make_controlplane(Options(runtime_config=only()))
    namespace = Namespace(plane.api())
    ours = controller(plane, environment=NO_LEADER_ELECTION)
    try:
        ours.process.start()
        ours.process.wait_url(f"{ours.url}/healthz")
        status, text = wait_for(
            "readyz explains", lambda: ours.get("/readyz"), lambda seen: "want one of v1" in seen[1]
        )
        assert status == 503
        assert "no version of resource.k8s.io" in text
        namespace.create(injected_pod("llama"))
        time.sleep(30 if LONG_TESTS else 3)
        assert ours.get("/healthz")[0] == 200
        plane.stop_apiserver()
        plane.start_apiserver(runtime_config=only("v1"))
        ours.process.wait_url(f"{ours.url}/readyz", timeout=60)
        wait_each_pod_has_its_claim(namespace)
    finally:
        ours.process.kill()
