"""Runs the commands of docs/operations.md, and compares its alerts, metrics and log lines with the code."""

import base64
import re
from pathlib import Path

import pytest
import yaml
from cryptography import x509

from testbed.node.pod import LocalPod
from testbed.paths import path
from testbed.programs import REPOSITORY
from testbed.waiting import wait_for
from tests.chart.helm import Helm
from tests.chart.installing import Cluster, PodTraffic, labelled
from tests.chart.pages import Page, Shell
from tests.chart.rendering import Values
from tools.generate.chart_values import CHART
from webhook.controller import controller_metrics as controller
from webhook.observe import admission_metrics as webhook

PAGE = Page("operations.md")
NAME = "modelfit"
"""Name of the release and of the namespace, as on the page."""

FAST_SHUTDOWN: Values = {"webhook": {"preStopSeconds": 2}, "config": {"drainSeconds": 1}}
PROPAGATION_MINUTES = "0.2"
"""Less than the chart allows (2). The test bed updates mounts within two seconds."""


def trusted_cas(cluster: Cluster) -> list[x509.Certificate]:
    """The CAs in the mutating webhook's caBundle."""
    configuration = cluster.api.get(path("MutatingWebhookConfiguration", None, NAME))
    text = base64.b64decode(configuration["webhooks"][0]["clientConfig"].get("caBundle") or "")
    return x509.load_pem_x509_certificates(text) if text else []


def shorten_propagation(cluster: Cluster) -> None:
    """Shortens the pause between the steps of a rotation."""
    where = path("Deployment", NAME, f"{NAME}-controller")
    annotations = cluster.api.get(where)["spec"]["template"]["metadata"]["annotations"]
    settings = annotations["modelfit.llmfit.ai/config"]
    assert "propagationMinutes: 10" in settings
    changed = settings.replace("propagationMinutes: 10", f"propagationMinutes: {PROPAGATION_MINUTES}")
    template = {"metadata": {"annotations": {"modelfit.llmfit.ai/config": changed}}}
    before = cluster.kubelet.running("controller")
    cluster.api.patch(where, {"spec": {"template": template}})
    for pod in before:
        assert pod.terminated.wait(60)
    wait_for(
        "a new pod is the leader",
        lambda: any(is_leader(pod) for pod in cluster.kubelet.running("controller")),
        timeout=60,
    )


def is_leader(pod: LocalPod) -> bool:
    try:
        return pod.process is not None and pod.process.running and "modelfit_leader 1.0" in pod.metrics()
    except OSError:
        return False


@pytest.mark.chart
@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_ca_and_certificate_can_be_rotated_manually_while_pods_are_created(
    cluster: Cluster, helm: Helm, tmp_path: Path
) -> None:
    cluster.release = cluster.namespace = NAME
    cluster.make_namespace(NAME)
    cluster.install(helm, FAST_SHUTDOWN)
    cluster.wait_ready()
    shorten_propagation(cluster)
    shell = Shell(cluster, helm, tmp_path, PAGE)
    assert "no problem" in shell.run("Certificates")
    (old,) = trusted_cas(cluster)
    with PodTraffic(cluster) as traffic:
        shell.run("Rotate the CA")
        wait_for("both CAs are trusted", lambda: trusted_cas(cluster), lambda found: len(found) == 2 and old in found)
        (new,) = wait_for(
            "the old CA is removed", lambda: trusted_cas(cluster), lambda found: old not in found, timeout=120
        )
        leaf = secret(cluster, "tls.crt")
        shell.run("Renew the certificate")
        wait_for("the certificate changes", lambda: secret(cluster, "tls.crt"), lambda found: found != leaf)
        created = traffic.pods
        wait_for("pods are created", lambda: traffic.pods > created + 50, timeout=60)
    assert traffic.errors == []
    assert trusted_cas(cluster) == [new]
    assert "no problem" in shell.run("Certificates")
    assert shell.run("Certificates without the controller").count("no problem") == 2


@pytest.mark.chart
@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_pods_can_be_created_after_the_webhook_configurations_are_deleted(
    cluster: Cluster, helm: Helm, tmp_path: Path
) -> None:
    cluster.release = cluster.namespace = NAME
    cluster.make_namespace(NAME)
    cluster.install(helm, FAST_SHUTDOWN)
    cluster.wait_ready()
    others = cluster_scoped_objects(cluster)
    webhook = path("Deployment", NAME, f"{NAME}-webhook")
    cluster.api.patch(webhook, {"spec": {"replicas": 0}})
    wait_for("the webhook has ended", lambda: cluster.kubelet.running("webhook"), lambda pods: not pods)
    assert cluster.create_pod().status == 500
    output = Shell(cluster, helm, tmp_path, PAGE).run("ModelfitWebhookDown")
    assert len(output.splitlines()) == 2
    wait_for("annotated pods are admitted", cluster.create_pod, lambda found: found.status == 201)
    assert cluster_scoped_objects(cluster) == others != set()
    cluster.api.patch(webhook, {"spec": {"replicas": 2}})
    cluster.upgrade(helm, FAST_SHUTDOWN)
    cluster.wait_ready()


def cluster_scoped_objects(cluster: Cluster) -> set[str]:
    """The cluster-scoped objects of the release except the webhook configurations."""
    found = labelled(cluster.api, f"app.kubernetes.io/instance={NAME}")
    return {each for each in found if "/" not in each and "Webhook" not in each}


def secret(cluster: Cluster, entry: str) -> str:
    return str(cluster.api.get(path("Secret", NAME, f"{NAME}-tls"))["data"].get(entry))


def test_the_page_describes_exactly_the_existing_alerts() -> None:
    rules = yaml.safe_load((CHART / "files" / "alerts" / "modelfit.yaml").read_text())
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    assert alerts == set(re.findall(r"^### (Modelfit\w+)$", PAGE.text, re.MULTILINE))


def test_the_page_describes_exactly_the_existing_metrics() -> None:
    text = (webhook.exposition([], multiprocess=False) + controller.exposition()).decode()
    ours = {
        f"{name}_total" if kind == "counter" and not name.endswith("_total") else name
        for name, kind in re.findall(r"^# TYPE (modelfit_\w+) (\w+)$", text, re.MULTILINE)
    }
    section = _section("Metrics")
    assert ours == set(re.findall(r"`(modelfit_\w+)`", section))


def test_the_page_describes_exactly_the_existing_warnings_and_errors() -> None:
    sources = [path.read_text("utf-8") for path in (REPOSITORY / "webhook").rglob("*.py")]
    logged = {
        message
        for source in sources
        for message in re.findall(r"_log\.(?:warning|error|exception|log\(level,)\W+(\w[^\"]+)\"", source)
    }
    assert logged == set(re.findall(r"^\| `([^`]+)` \|", _section("Log messages"), re.MULTILINE))


def _section(heading: str) -> str:
    """The text under a heading of level 2."""
    return PAGE.text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_links_to_sections_are_valid() -> None:
    for file, anchor in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", PAGE.text):
        target = Page(file) if file else PAGE
        headings = re.findall(r"^#+ (.+)$", target.text, re.MULTILINE)
        assert anchor in [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings]
