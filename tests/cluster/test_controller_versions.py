"""Older versions of resource.k8s.io, and a newer one that appears while it runs."""

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
    """A --runtime-config that serves these versions of the group and no others."""
    return {f"resource.k8s.io/{version}": version in served for version in VERSIONS}


def written_as(namespace: Namespace, version: str, name: str) -> str:
    """The apiVersion that the controller wrote the claim of that pod in, by the API server's own record."""
    claim = namespace.pod(name)["metadata"]["annotations"]["llmfit.ai/claim"]
    where = path("ResourceClaim", namespace.name, claim, api_version=f"resource.k8s.io/{version}")
    managers: list[JsonObject] = namespace.api.get(where)["metadata"]["managedFields"]
    (ours,) = [entry for entry in managers if entry["manager"].startswith("modelfit-controller")]
    return str(ours["apiVersion"])


def asked_class(claim: JsonObject, version: str) -> str:
    (request,) = claim["spec"]["devices"]["requests"]
    return str((request if version == "v1beta1" else request["exactly"])["deviceClassName"])


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_where_only_a_beta_version_is_served_claims_have_its_shape_and_go_on_when_v1_comes(
    version: str, make_controlplane: Callable[[Options], ControlPlane]
) -> None:
    plane = make_controlplane(Options(runtime_config=only(version)))
    namespace = Namespace(plane.api(), version=version)
    inventory = Inventory(plane.api(), version)
    inventory.install(*nvidia.CLASSES)
    inventory.node(
        nvidia.gpu("gpu-0", "4Gi"), nvidia.gpu("gpu-1", None), nvidia.gpu("gpu-2", "40Gi"), nvidia.gpu("gpu-3")
    )
    # Alone: after an outage the lease would take its time, and this is about versions.
    with running_controller(plane, environment=NO_LEADER_ELECTION):
        namespace.create(injected_pod("before"))
        (claim,) = wait_each_pod_has_its_claim(namespace)
        assert asked_class(claim, version) == NVIDIA
        assert written_as(namespace, version, "before") == f"resource.k8s.io/{version}"

        plane.stop_apiserver()
        plane.start_apiserver(runtime_config=only("v1", version))
        namespace.version = "v1"
        wait_for(
            "v1 is spoken",
            lambda: spoken_for_a_new_pod(namespace),
            lambda seen: seen == "resource.k8s.io/v1",
            timeout=60,
        )

        # And without the old one, which the next release removes.
        plane.stop_apiserver()
        plane.start_apiserver(runtime_config=only("v1"))
        namespace.create(injected_pod("after"))
        wait_each_pod_has_its_claim(namespace)
        assert written_as(namespace, "v1", "after") == "resource.k8s.io/v1"
        # This release's scheduler speaks v1: everything that waited is allocated now, the oldest too.
        name = namespace.pod("before")["metadata"]["annotations"]["llmfit.ai/claim"]
        placed = wait_for(
            "the claim written in the old shape is allocated",
            lambda: allocated(namespace.api.get(namespace.path("ResourceClaim", name))),
            timeout=60,
        )
        assert placed[0].device in ("gpu-2", "gpu-3")


def spoken_for_a_new_pod(namespace: Namespace) -> str:
    """The version in which the claim of a pod created just now is written."""
    made = namespace.create(injected_pod(generate_name="probe-"))["metadata"]["name"]
    wait_each_pod_has_its_claim(namespace)
    version = written_as(namespace, "v1", made)
    namespace.delete_pod(made)
    return version


def test_where_no_version_is_served_it_says_so_and_starts_when_one_is(
    make_controlplane: Callable[[Options], ControlPlane],
) -> None:
    plane = make_controlplane(Options(runtime_config=only()))
    namespace = Namespace(plane.api())
    ours = controller(plane, environment=NO_LEADER_ELECTION)
    try:
        ours.process.start()
        ours.process.wait_url(f"{ours.url}/healthz")
        status, text = wait_for(
            "it says why it is not ready", lambda: ours.get("/readyz"), lambda seen: "want one of v1" in seen[1]
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
