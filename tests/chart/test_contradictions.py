"""Values that are missing or contradict each other fail the rendering with a message; notes depend on the values."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.chart.helm import Helm, HelmFailed
from tests.chart.matrix import CA_CERTIFICATE, MATRIX
from tests.chart.rendering import Values, render, with_image
from tools.generate.chart_values import CHART

pytestmark = pytest.mark.chart

OWN: Values = {"name": "own", "caBundle": CA_CERTIFICATE}

ACME: Values = {"driver": "gpu.acme.example", "deviceClasses": ["gpu.acme.example"]}

CONTRADICTIONS: dict[str, tuple[Values, str]] = {
    "no image": ({"image": {"repository": ""}}, "image.repository is empty; build the image from the Dockerfile"),
    "client names without a client CA": (
        {"webhook": {"clientCA": {"names": ["kube-apiserver"]}}},
        "webhook.clientCA.names is set but webhook.clientCA.configMap is not",
    ),
    "sources without NetworkPolicy": (
        {"networkPolicy": {"enabled": False, "apiServerCIDRs": ["192.0.2.1/32"]}},
        "networkPolicy.enabled is false, so nothing limits traffic",
    ),
    "sources that exclude Prometheus": (
        {"networkPolicy": {"webhookSourceCIDRs": ["192.0.2.0/24"]}, "monitoring": {"enabled": True}},
        "name Prometheus in networkPolicy.metricsFrom",
    ),
    "sources on the nodes' network": (
        {"networkPolicy": {"webhookSourceCIDRs": ["192.0.2.0/24"]}, "webhook": {"hostNetwork": True}},
        "webhookSourceCIDRs has no effect with webhook.hostNetwork",
    ),
    "mode secret without name": (
        {"certificates": {"mode": "secret", "secret": {"caBundle": CA_CERTIFICATE}}},
        "certificates.secret.name must name the Secret",
    ),
    "mode secret without caBundle": (
        {"certificates": {"mode": "secret", "secret": {"name": "own"}}},
        "certificates.secret.caBundle must hold the CA",
    ),
    "secret without mode secret": (
        {"certificates": {"secret": OWN}},
        "certificates.secret is set but certificates.mode is controller",
    ),
    "issuerRef without mode cert-manager": (
        {"certificates": {"certManager": {"issuerRef": {"name": "ca"}}}},
        "issuerRef is set but certificates.mode is controller",
    ),
    "issuerRef without name": (
        {"certificates": {"mode": "cert-manager", "certManager": {"issuerRef": {"kind": "ClusterIssuer"}}}},
        "issuerRef has no name",
    ),
    "caLifetimeDays too short": (
        {"certificates": {"controller": {"caLifetimeDays": 60}}},
        "caLifetimeDays is 60, less than three times leafLifetimeDays \\(30\\)",
    ),
    "minReplicas above maxReplicas": (
        {"webhook": {"autoscaling": {"enabled": True, "minReplicas": 9}}},
        "minReplicas \\(9\\) is more than maxReplicas \\(6\\)",
    ),
    "autoscaling without a CPU request": (
        {"webhook": {"autoscaling": {"enabled": True}, "resources": {"requests": {"cpu": None}}}},
        "webhook.resources.requests.cpu must be set",
    ),
    "alerts without scraping": (
        {"monitoring": {"alerts": {"enabled": True}}},
        "monitoring.alerts.enabled is true but monitoring.enabled is not",
    ),
    "partitionClasses outside deviceClasses": (
        {"config": {"profiles": {"acme": {**ACME, "partitionClasses": ["other"]}}}},
        "config.profiles.acme.partitionClasses has other, which is not in its deviceClasses",
    ),
    "shares of the memory capacity": (
        {"config": {"profiles": {"acme": {**ACME, "shares": {"memory": "1Gi"}}}}},
        "config.profiles.acme.shares names the capacity that holds GPU memory",
    ),
}


@pytest.mark.parametrize(("values", "message"), CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_contradictory_values_fail_with_a_message(every_helm: Helm, values: Values, message: str) -> None:
    with pytest.raises(HelmFailed, match=message):
        render(every_helm, values)


def test_all_contradictions_are_reported_at_once(helm: Helm) -> None:
    values: Values = {
        "certificates": {"mode": "secret", "certManager": {"issuerRef": {"name": "ca"}}},
        "webhook": {"autoscaling": {"enabled": True, "minReplicas": 9}},
    }
    with pytest.raises(HelmFailed) as failure:
        render(helm, values)
    assert str(failure.value).count("\n- ") == 4


def test_the_notes_are_complete_for_all_values(every_helm: Helm, tmp_path: Path) -> None:
    for name, values in MATRIX.items():
        text = render_notes(every_helm, values, tmp_path)
        assert "helm -n modelfit test modelfit" in text, name
        assert "<no value>" not in text
        assert not re.search(r"\n\n\n|[ \t]\n", text), name


@pytest.mark.parametrize(
    ("values", "present", "absent"),
    [
        ({}, "controller issues the certificate in Secret modelfit-tls", "cert-manager"),
        (MATRIX["cert-manager"], "get certificate modelfit-tls", "controller issues"),
        (MATRIX["secret"], "Secret own, for the name modelfit.modelfit.svc", "controller issues"),
        ({"admission": {"failurePolicy": "Ignore"}}, "created without a claim", "webhook.replicas is 1"),
        ({"webhook": {"replicas": 1}}, "webhook.replicas is 1", "nodes' network"),
        (MATRIX["host network"], "pod-security.kubernetes.io/enforce=privileged", "webhook.replicas is 1"),
        ({"admission": {"excludedNamespaces": ["a", "b"]}}, "nor in a, b", "in `default`"),
    ],
)
def test_the_notes_depend_on_the_values(helm: Helm, values: Values, present: str, absent: str, tmp_path: Path) -> None:
    text = render_notes(helm, values, tmp_path)
    assert present in text
    assert absent not in text


def test_the_notes_warn_about_an_installation_in_default(helm: Helm, tmp_path: Path) -> None:
    assert "annotated pods there get no claim" in render_notes(helm, {}, tmp_path, namespace="default")


def render_notes(helm: Helm, values: Values, folder: Path, namespace: str = "modelfit") -> str:
    """Renders NOTES.txt without a cluster, as a manifest in a copy of the chart."""
    copy = folder / "chart"
    if not copy.exists():
        shutil.copytree(CHART, copy)
        (copy / "templates" / "NOTES.txt").rename(copy / "notes")
        (copy / "templates" / "notes.yaml").write_text('{notes: {{ tpl (.Files.Get "notes") . | toJson }}}')
    arguments = ("template", "modelfit", str(copy), "--namespace", namespace, "--show-only", "templates/notes.yaml")
    text = helm.run(*arguments, "--values", "-", input=json.dumps(with_image(values)))
    return str(yaml.safe_load(text)["notes"]).rstrip()
