"""docs/operations.md, tried: its commands on a release, and what it says of alerts and metrics."""

import base64
import re
from pathlib import Path

import pytest
import yaml
from cryptography import x509

from testbed.node.pod import LocalPod
from testbed.paths import path
from testbed.waiting import wait_for
from tests.chart.helm import Helm
from tests.chart.installing import Cluster, Customers, labelled
from tests.chart.pages import Page, Shell
from tests.chart.rendering import Values
from tools.generate.chart_values import CHART
from webhook.controller import controller_metrics as controller
from webhook.observe import admission_metrics as webhook

PAGE = Page("operations.md")
NAME = "modelfit"
"""Of release and namespace, as on the page."""

QUICK: Values = {"webhook": {"preStopSeconds": 2}, "config": {"drainSeconds": 1}}
HASTY = "0.2"
"""Minutes of propagation. The node here mounts within a second or two; a value of the chart is 2 or more."""


def trusted(cluster: Cluster) -> list[x509.Certificate]:
    """The authorities in the mutating webhook's caBundle; none where it is not readable."""
    found = cluster.api.get(path("MutatingWebhookConfiguration", None, NAME))
    text = base64.b64decode(found["webhooks"][0]["clientConfig"].get("caBundle") or "")
    return x509.load_pem_x509_certificates(text) if text else []


def hasten(cluster: Cluster) -> None:
    """Has the controllers wait less between the steps of a rotation."""
    where = path("Deployment", NAME, f"{NAME}-controller")
    annotations = cluster.api.get(where)["spec"]["template"]["metadata"]["annotations"]
    settings = annotations["modelfit.llmfit.ai/config"]
    assert "propagationMinutes: 10" in settings
    hasty = settings.replace("propagationMinutes: 10", f"propagationMinutes: {HASTY}")
    template = {"metadata": {"annotations": {"modelfit.llmfit.ai/config": hasty}}}
    before = cluster.kubelet.running("controller")
    cluster.api.patch(where, {"spec": {"template": template}})
    for pod in before:
        assert pod.terminated.wait(60)
    wait_for("a new one leads", lambda: any(leads(pod) for pod in cluster.kubelet.running("controller")), timeout=60)


def leads(pod: LocalPod) -> bool:
    """Whether it runs and leads."""
    try:
        return pod.process is not None and pod.process.running and "modelfit_leader 1.0" in pod.metrics()
    except OSError:
        return False


@pytest.mark.chart
@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_authority_and_certificate_are_changed_by_hand_while_pods_are_created(
    cluster: Cluster, helm: Helm, tmp_path: Path
) -> None:
    cluster.release = cluster.namespace = NAME
    cluster.make_namespace(NAME)
    cluster.install(helm, QUICK)
    cluster.wait_ready()
    hasten(cluster)
    shell = Shell(cluster, helm, tmp_path, PAGE)
    assert "no problem" in shell.run("The certificate")
    (old,) = trusted(cluster)
    with Customers(cluster) as customers:
        shell.run("A new authority, by hand")
        wait_for("both are trusted", lambda: trusted(cluster), lambda seen: len(seen) == 2 and old in seen)
        (new,) = wait_for("the old one is gone", lambda: trusted(cluster), lambda seen: old not in seen, timeout=120)
        leaf = secret(cluster, "tls.crt")
        shell.run("A new certificate, by hand")
        wait_for("there is another certificate", lambda: secret(cluster, "tls.crt"), lambda seen: seen != leaf)
        so_far = customers.pods
        wait_for("pods are created by it", lambda: customers.pods > so_far + 50, timeout=60)
    assert customers.refused == []
    assert trusted(cluster) == [new]
    assert "no problem" in shell.run("The certificate")
    assert shell.run("A certificate that the controller does not make").count("no problem") == 2


@pytest.mark.chart
@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_pods_can_be_created_while_no_webhook_answers(cluster: Cluster, helm: Helm, tmp_path: Path) -> None:
    cluster.release = cluster.namespace = NAME
    cluster.make_namespace(NAME)
    cluster.install(helm, QUICK)
    cluster.wait_ready()
    others = without_webhooks(cluster)
    webhook = path("Deployment", NAME, f"{NAME}-webhook")
    cluster.api.patch(webhook, {"spec": {"replicas": 0}})
    wait_for("the webhook has ended", lambda: cluster.kubelet.running("webhook"), lambda pods: not pods)
    assert cluster.create_pod().status == 500
    said = Shell(cluster, helm, tmp_path, PAGE).run("Alerts")
    assert len(said.splitlines()) == 2
    wait_for("annotated pods are admitted", cluster.create_pod, lambda seen: seen.status == 201)
    assert without_webhooks(cluster) == others != set()
    cluster.api.patch(webhook, {"spec": {"replicas": 2}})
    cluster.upgrade(helm, QUICK)
    cluster.wait_ready()


def without_webhooks(cluster: Cluster) -> set[str]:
    """What the release has in the cluster as a whole, but for the webhook configurations."""
    found = labelled(cluster.api, f"app.kubernetes.io/instance={NAME}")
    return {each for each in found if "/" not in each and "Webhook" not in each}


def secret(cluster: Cluster, entry: str) -> str:
    return str(cluster.api.get(path("Secret", NAME, f"{NAME}-tls"))["data"].get(entry))


def test_every_alert_is_explained_and_no_other_one() -> None:
    rules = yaml.safe_load((CHART / "files" / "alerts" / "modelfit.yaml").read_text())
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    assert alerts == set(re.findall(r"^\*\*(\w+)\*\*:", PAGE.text, re.MULTILINE))


def test_every_metric_is_explained_and_no_other_one() -> None:
    text = (webhook.exposition([], multiprocess=False) + controller.exposition()).decode()
    ours = {
        f"{name}_total" if kind == "counter" and not name.endswith("_total") else name
        for name, kind in re.findall(r"^# TYPE (modelfit_\w+) (\w+)$", text, re.MULTILINE)
    }
    section = PAGE.text[PAGE.text.index("## What to watch") : PAGE.text.index("## Alerts")]
    assert ours == set(re.findall(r"`(modelfit_\w+)`", section))


def test_links_of_the_page_lead_somewhere() -> None:
    for file, anchor in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", PAGE.text):
        target = Page(file) if file else PAGE
        headings = re.findall(r"^#+ (.+)$", target.text, re.MULTILINE)
        assert anchor in [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings]
