"""A cluster of one node that runs the release's pods as local processes, and helm operations on it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed import workspace
from testbed.api import Answer, Api, JsonObject
from testbed.certificates import Pair, mint
from testbed.controlplane import ControlPlane
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.node.kubelet import Kubelet
from testbed.node.network import ServiceProxy
from testbed.paths import path
from testbed.pods import pod
from testbed.servers import Options
from testbed.waiting import wait_for
from tests.chart.helm import Helm
from tests.chart.matrix import MAX_NAMESPACE
from tests.chart.rendering import Values, with_image
from tests.vendors import nvidia
from tools.generate.chart_values import CHART

RELEASE, NAMESPACE = "modelfit", "gpu-system"
ANNOTATION = "llmfit.ai/model-fit"
MODEL_FIT = '{"model": "llama-7b", "min_ram_gb": 1, "min_vram_gb": 8}'
NODE = "machine"
OTHER_NAMESPACES = ("modelfit", MAX_NAMESPACE)
"""Other namespaces that tests install into."""


class Cluster:
    """Kubernetes with GPUs. Users create pods in namespace `team`; `release` is installed in `namespace`."""

    def __init__(self, plane: ControlPlane, kubelet: Kubelet) -> None:
        self.plane, self.kubelet = plane, kubelet
        self.api: Api = plane.api()
        self.release, self.namespace = RELEASE, NAMESPACE
        self.make_namespace(NAMESPACE)
        self.team = Namespace(self.api)

    def make_namespace(self, name: str, **labels: str) -> None:
        """Creates a namespace and waits until pods can be created in it."""
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        self.wait_service_account(name)

    def wait_service_account(self, namespace: str) -> None:
        account = path("ServiceAccount", namespace, "default")
        wait_for(f"namespace {namespace} has its default ServiceAccount", lambda: self.api.find(account))

    def helm(self, helm: Helm, *arguments: str, chart: Path | None = None, values: Values | None = None) -> str:
        """Runs helm in the release's namespace, `values` with an image. Raises HelmFailed."""
        command = [*arguments, *([str(chart)] if chart else []), "--namespace", self.namespace]
        command += ["--values", "-"] if values is not None else []
        return helm.run(*command, kubeconfig=self.plane.kubeconfig(), input=json.dumps(with_image(values)))

    def install(self, helm: Helm, values: Values, chart: Path = CHART) -> None:
        self.helm(helm, "install", self.release, "--wait", "--timeout", "200s", chart=chart, values=values)

    def upgrade(self, helm: Helm, values: Values, chart: Path = CHART) -> None:
        self.helm(helm, "upgrade", self.release, "--wait", "--timeout", "200s", chart=chart, values=values)

    def own_certificate(self, service: str = "") -> tuple[Pair, Values]:
        """Creates a Secret with a certificate for the Service. Returns the certificate and the values that use it."""
        pair = mint(
            workspace.current().folder("own"), hosts=("localhost", service or f"{self.release}.{self.namespace}.svc")
        )
        files = {"tls.crt": pair.certificate, "tls.key": pair.key}
        data = {key: base64.b64encode(file.read_bytes()).decode() for key, file in files.items()}
        metadata = {"name": "own", "namespace": self.namespace}
        self.api.create(
            {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "data": data}
        )
        secret = {"name": "own", "caBundle": pair.ca.read_text()}
        return pair, {"certificates": {"mode": "secret", "secret": secret}}

    def create_pod(self, namespace: str | None = None, *, annotated: bool = True, dry_run: bool = False) -> Answer:
        """Requests a pod and returns the answer, also if it is refused."""
        where = namespace or self.team.name
        body = pod(generate_name="model-", annotations={ANNOTATION: MODEL_FIT} if annotated else {})
        return self.api.send("POST", path("Pod", where), body, query={"dryRun": "All"} if dry_run else {})

    def wait_ready(self) -> None:
        """Waits until an annotated pod is injected in a dry run."""
        wait_for("an annotated pod is injected", lambda: self.create_pod(dry_run=True), injected)


def injected(answer: Answer) -> bool:
    """Whether the answer is a pod with our claim."""
    claims = answer.body.get("spec", {}).get("resourceClaims", [])
    return answer.status == 201 and [claim["name"] for claim in claims] == ["modelfit"]


@contextmanager
def cluster_with_gpus(gpus: int = 16) -> Iterator[Cluster]:
    """A cluster of one node with that many GPUs."""
    proxy = ServiceProxy(workspace.current().folder("network"))
    flags = (f"--egress-selector-config-file={proxy.configuration}",)
    with ControlPlane(Options(apiserver_flags=flags)) as plane:
        inventory = Inventory(plane.api())
        inventory.install(*nvidia.CLASSES)
        inventory.node(*(nvidia.gpu(f"gpu-{number}", "24Gi") for number in range(gpus)), name=NODE)
        kubelet = Kubelet(plane, NODE, {NAMESPACE, *OTHER_NAMESPACES})
        proxy.serve(plane.api(), kubelet.locate)
        kubelet.start()
        try:
            yield Cluster(plane, kubelet)
        finally:
            kubelet.stop()
            proxy.close()


def labelled(api: Api, selector: str) -> list[str]:
    """`Kind namespace/name` of every object that matches the label selector, except Events."""
    found = []
    for group_version in _group_versions(api):
        prefix = "/api/v1" if group_version == "v1" else f"/apis/{group_version}"
        for resource in api.get(prefix)["resources"]:
            listable = "list" in resource["verbs"] and "/" not in resource["name"] and resource["kind"] != "Event"
            if listable:
                items = api.list(f"{prefix}/{resource['name']}", labelSelector=selector)
                found += [f"{resource['kind']} {_full_name(each)}" for each in items]
    return sorted(set(found))


def _group_versions(api: Api) -> Iterator[str]:
    yield "v1"
    for group in api.get("/apis")["groups"]:
        yield group["preferredVersion"]["groupVersion"]


def _full_name(obj: JsonObject) -> str:
    namespace = obj["metadata"].get("namespace")
    return f"{namespace}/{obj['metadata']['name']}" if namespace else str(obj["metadata"]["name"])


class PodTraffic:
    """Creates annotated pods continuously, as dry runs. `errors` has a message for each pod that was not injected."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._create, daemon=True, name="pod-traffic")
        self.pods = 0
        self.errors: list[str] = []

    def __enter__(self) -> PodTraffic:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _create(self) -> None:
        while not self._stop.wait(0.05):
            answer = self._cluster.create_pod(dry_run=True)
            self.pods += 1
            if not injected(answer):
                self.errors.append(str(answer.body.get("message", "admitted, but not injected")))
