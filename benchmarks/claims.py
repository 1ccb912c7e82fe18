"""How fast claims come: the controller against kube-controller-manager's templates, and against a bare loop.

`python -m benchmarks.claims [PODS]`, with the test control plane built (`make controlplane`). Prints two ratios, each
of measurements made in turns on the same control plane:

- a burst of annotated pods, until the last claim exists, against the same burst of pods that name a
  ResourceClaimTemplate written by hand, whose claims kube-controller-manager makes at its default settings;
- claims a second of the controller, for pods that wait already, against a loop that does nothing but create the same
  claims through the same client with as many threads.
"""

import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from testbed.api import JsonObject
from testbed.controllers import NO_LEADER_ELECTION, Controller, controller
from testbed.controlplane import ControlPlane
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.programs import webhook_server
from testbed.waiting import wait_for
from testbed.webhooks import ANNOTATION, registered
from tests.vendors import nvidia
from webhook import constants
from webhook.cluster import client_config
from webhook.cluster.api import METADATA, Api, path
from webhook.core import claims
from webhook.settings import Settings

FIT = '{"model": "llama-7b", "min_ram_gb": 1, "min_vram_gb": 8}'
CLIENTS = 16
"""Threads that create the burst's pods."""
ROUNDS = 3
"""Of the second comparison; the middle one counts."""


def main() -> None:
    """Measures and prints."""
    pods = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with measured_plane() as (plane, ours):
        print(f"{pods} pods, {CLIENTS} clients")
        ratio = against_templates(plane, ours, pods)
        print(f"templates / modelfit: {ratio:.1f}\n")
        print(f"modelfit / bare loop: {against_bare_loop(plane, ours, pods):.2f}")


@contextmanager
def measured_plane() -> Iterator[tuple[ControlPlane, Controller]]:
    """A control plane with the webhook registered, and a controller that is not started."""
    with ControlPlane() as plane:
        Inventory(plane.api()).install(*nvidia.CLASSES)
        server = webhook_server()
        server.start()
        ours = controller(plane, environment=NO_LEADER_ELECTION | {"MODELFIT_LOG_LEVEL": "warning"})
        try:
            with registered(plane, server.url, server.files.ca.read_bytes()):
                yield plane, ours
        finally:
            ours.process.kill()
            server.process.kill()


def against_templates(plane: ControlPlane, ours: Controller, pods: int) -> float:
    """How many times longer the claims of a burst take from templates than from the controller."""
    ours.start()
    with fresh_namespace(plane) as namespace:
        mine = burst(namespace, pods, pod(generate_name="ours-", annotations={ANNOTATION: FIT}))
    ours.process.stop()
    with fresh_namespace(plane) as namespace:
        namespace.create(template())
        theirs = burst(namespace, pods, pod(generate_name="template-", templates={"gpu": "llama"}))
    print(f"modelfit {mine:.2f} s, templates {theirs:.2f} s until the last claim")
    return theirs / mine


def against_bare_loop(plane: ControlPlane, ours: Controller, pods: int, rounds: int = ROUNDS) -> float:
    """The controller's claims a second, as a part of the bare loop's."""
    ratios = []
    for _ in range(rounds):
        with fresh_namespace(plane) as namespace:
            waiting(namespace, pods)
            mine = rate(namespace, pods, ours.process.start)
            ours.process.stop()
        with fresh_namespace(plane) as namespace:
            manifests = [claim(made) for made in waiting(namespace, pods)]
            # A process of its own, as the controller is.
            arguments = (str(plane.kubeconfig()), manifests)
            loop = multiprocessing.get_context("spawn").Process(target=bare_loop, args=arguments)
            bare = rate(namespace, pods, loop.start)
            loop.join()
        print(f"modelfit {mine:.0f} claims/s, bare loop {bare:.0f} claims/s")
        ratios.append(mine / bare)
    return statistics.median(ratios)


@contextmanager
def fresh_namespace(plane: ControlPlane) -> Iterator[Namespace]:
    """A namespace, and nothing of it afterwards."""
    namespace = Namespace(plane.api())
    try:
        yield namespace
    finally:
        namespace.close()


def burst(namespace: Namespace, pods: int, manifest: JsonObject) -> float:
    """Seconds from the first pod until the last claim of a burst."""
    began = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as clients:
        created = clients.map(lambda _: namespace.create(manifest), range(pods))
        assert sum(1 for _ in created) == pods
    wait_for_claims(namespace, pods)
    return time.monotonic() - began


def waiting(namespace: Namespace, pods: int) -> list[JsonObject]:
    """So many injected pods without claims."""
    manifest = pod(generate_name="waiting-", annotations={ANNOTATION: FIT})
    with ThreadPoolExecutor(CLIENTS) as clients:
        return list(clients.map(lambda _: namespace.create(manifest), range(pods)))


def rate(namespace: Namespace, pods: int, start: Callable[[], None]) -> float:
    """Claims a second, from the first tenth of them to the last: starting up does not count."""
    start()
    tenth = pods // 10
    there, began = wait_for_claims(namespace, tenth)
    last, ended = wait_for_claims(namespace, pods)
    return (last - there) / (ended - began)


def wait_for_claims(namespace: Namespace, count: int) -> tuple[int, float]:
    """How many there were when there were enough, and when that was."""

    def look() -> tuple[int, float]:
        # One object and the number of those that are left: the look costs the API server nothing.
        answer = namespace.api.get(namespace.path("ResourceClaim"), limit="1")
        left = answer["metadata"].get("remainingItemCount", 0)
        return len(answer["items"]) + int(left), time.monotonic()

    return wait_for(f"{count} claims are there", look, lambda seen: seen[0] >= count, timeout=300, every=0.02)


def claim(made: JsonObject) -> JsonObject:
    """The claim that the controller would make for the pod."""
    wanted = claims.build_pod_claim(made["metadata"], Settings().admission_config())
    assert wanted is not None
    return dict(wanted)


def bare_loop(kubeconfig: str, manifests: list[JsonObject]) -> None:
    """Creates them through the controller's client with as many threads as it has workers; does nothing else."""
    workers = Settings().claim_workers
    api = Api(client_config.from_kubeconfig(kubeconfig), connections=workers, user_agent="bare-loop")

    def create(manifest: JsonObject) -> None:
        where = path("resource.k8s.io/v1", "resourceclaims", manifest["metadata"]["namespace"])
        api.call("POST", where, body=manifest, accept=METADATA)

    with ThreadPoolExecutor(workers) as loop:
        list(loop.map(create, manifests))


def template() -> JsonObject:
    """A ResourceClaimTemplate of the same request, as one writes it by hand."""
    annotations = {ANNOTATION: FIT, constants.CLAIM: "llama-7b-claim-0123456789"}
    request = claim({"metadata": {"annotations": annotations, "namespace": "any", "name": "any", "uid": "any"}})
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "llama"},
        "spec": {"spec": request["spec"]},
    }


if __name__ == "__main__":
    main()
