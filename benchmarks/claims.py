"""Throughput of the controller compared with ResourceClaimTemplates and with a bare loop.

`python -m benchmarks.claims [PODS]` needs the test control plane (`make controlplane`). It prints two ratios, each of
measurements that alternate on one control plane:

- the time from a burst of annotated pods to their last claim, compared with the same burst of pods that reference a
  ResourceClaimTemplate, whose claims kube-controller-manager creates with its default settings;
- the controller's claims per second for existing pods, compared with a loop that creates the same claims through the
  same client with the same number of threads, and does nothing else.
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
"""Rounds of the second comparison; the result is their median."""


def main() -> None:
    """Prints both ratios."""
    pods = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with measured_plane() as (plane, modelfit):
        print(f"{pods} pods, {CLIENTS} clients")
        ratio = against_templates(plane, modelfit, pods)
        print(f"templates / modelfit: {ratio:.1f}\n")
        print(f"modelfit / bare loop: {against_bare_loop(plane, modelfit, pods):.2f}")


@contextmanager
def measured_plane() -> Iterator[tuple[ControlPlane, Controller]]:
    """A control plane with the webhook registered, and a controller that is not started."""
    with ControlPlane() as plane:
        Inventory(plane.api()).install(*nvidia.CLASSES)
        server = webhook_server()
        server.start()
        modelfit = controller(plane, environment=NO_LEADER_ELECTION | {"MODELFIT_LOG_LEVEL": "warning"})
        try:
            with registered(plane, server.url, server.files.ca.read_bytes()):
                yield plane, modelfit
        finally:
            modelfit.process.kill()
            server.process.kill()


def against_templates(plane: ControlPlane, modelfit: Controller, pods: int) -> float:
    """The time of a burst with templates divided by its time with the controller."""
    modelfit.start()
    with fresh_namespace(plane) as namespace:
        modelfit_seconds = measure_burst(namespace, pods, pod(generate_name="modelfit-", annotations={ANNOTATION: FIT}))
    modelfit.process.stop()
    with fresh_namespace(plane) as namespace:
        namespace.create(template())
        template_seconds = measure_burst(namespace, pods, pod(generate_name="template-", templates={"gpu": "llama"}))
    print(f"until the last claim: modelfit {modelfit_seconds:.2f} s, templates {template_seconds:.2f} s")
    return template_seconds / modelfit_seconds


def against_bare_loop(plane: ControlPlane, modelfit: Controller, pods: int, rounds: int = ROUNDS) -> float:
    """The controller's claims per second divided by the bare loop's."""
    ratios = []
    for _ in range(rounds):
        with fresh_namespace(plane) as namespace:
            create_pods_without_claims(namespace, pods)
            modelfit_rate = measure_rate(namespace, pods, modelfit.process.start)
            modelfit.process.stop()
        with fresh_namespace(plane) as namespace:
            manifests = [build_claim(pod) for pod in create_pods_without_claims(namespace, pods)]
            # In a separate process, as the controller.
            arguments = (str(plane.kubeconfig()), manifests)
            loop = multiprocessing.get_context("spawn").Process(target=bare_loop, args=arguments)
            bare_rate = measure_rate(namespace, pods, loop.start)
            loop.join()
        print(f"modelfit {modelfit_rate:.0f} claims/s, bare loop {bare_rate:.0f} claims/s")
        ratios.append(modelfit_rate / bare_rate)
    return statistics.median(ratios)


@contextmanager
def fresh_namespace(plane: ControlPlane) -> Iterator[Namespace]:
    """A namespace until the end of the block."""
    namespace = Namespace(plane.api())
    try:
        yield namespace
    finally:
        namespace.close()


def measure_burst(namespace: Namespace, pods: int, manifest: JsonObject) -> float:
    """Creates pods concurrently. Returns the seconds from the first pod to the last claim."""
    started = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as clients:
        created = clients.map(lambda _: namespace.create(manifest), range(pods))
        assert sum(1 for _ in created) == pods
    wait_for_claims(namespace, pods)
    return time.monotonic() - started


def create_pods_without_claims(namespace: Namespace, pods: int) -> list[JsonObject]:
    """Creates injected pods while no controller runs."""
    manifest = pod(generate_name="waiting-", annotations={ANNOTATION: FIT})
    with ThreadPoolExecutor(CLIENTS) as clients:
        return list(clients.map(lambda _: namespace.create(manifest), range(pods)))


def measure_rate(namespace: Namespace, pods: int, start: Callable[[], None]) -> float:
    """Claims per second after `start`, measured from the first tenth to the last to exclude the startup."""
    start()
    tenth = pods // 10
    first_count, first_at = wait_for_claims(namespace, tenth)
    last_count, last_at = wait_for_claims(namespace, pods)
    return (last_count - first_count) / (last_at - first_at)


def wait_for_claims(namespace: Namespace, count: int) -> tuple[int, float]:
    """Waits for at least `count` claims. Returns their number and the time."""

    def count_claims() -> tuple[int, float]:
        # Lists one object and uses the count of the remaining ones, which is cheap for the API server.
        answer = namespace.api.get(namespace.path("ResourceClaim"), limit="1")
        left = answer["metadata"].get("remainingItemCount", 0)
        return len(answer["items"]) + int(left), time.monotonic()

    return wait_for(f"{count} claims", count_claims, lambda counted: counted[0] >= count, timeout=300, every=0.02)


def build_claim(pod: JsonObject) -> JsonObject:
    """The claim that the controller creates for the pod."""
    manifest = claims.build_pod_claim(pod, Settings().admission_config())
    assert manifest is not None
    return dict(manifest)


def bare_loop(kubeconfig: str, manifests: list[JsonObject]) -> None:
    """Creates the claims through the controller's client with as many threads as it has workers."""
    workers = Settings().claim_workers
    api = Api(client_config.load_kubeconfig(kubeconfig), connections=workers, user_agent="bare-loop")

    def create(manifest: JsonObject) -> None:
        url_path = path("resource.k8s.io/v1", "resourceclaims", manifest["metadata"]["namespace"])
        api.call("POST", url_path, body=manifest, accept=METADATA)

    with ThreadPoolExecutor(workers) as loop:
        list(loop.map(create, manifests))


def template() -> JsonObject:
    """A ResourceClaimTemplate with the same request."""
    metadata = {"annotations": {ANNOTATION: FIT}, "namespace": "any", "name": "any", "uid": "any"}
    entry = {"name": constants.ALIAS, "resourceClaimName": "llama-7b-claim-0123456789"}
    request = build_claim({"metadata": metadata, "spec": {"resourceClaims": [entry]}})
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "llama"},
        "spec": {"spec": request["spec"]},
    }


if __name__ == "__main__":
    main()
