"""Contradictory values stop the rendering with a sentence; the notes say what follows from the others."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.chart.helm import Helm, HelmFailed
from tests.chart.matrix import AUTHORITY, MATRIX
from tests.chart.rendering import Values, render
from tools.generate.chart_values import CHART

pytestmark = pytest.mark.chart

OWN: Values = {"name": "own", "caBundle": AUTHORITY}

ACME: Values = {"driver": "gpu.acme.example", "deviceClasses": ["gpu.acme.example"]}

CONTRADICTIONS: dict[str, tuple[Values, str]] = {
    "secret without a name": (
        {"certificates": {"mode": "secret", "secret": {"caBundle": AUTHORITY}}},
        "certificates.secret.name must name the Secret",
    ),
    "secret without an authority": (
        {"certificates": {"mode": "secret", "secret": {"name": "own"}}},
        "certificates.secret.caBundle must hold the authority",
    ),
    "a secret that nobody asked for": (
        {"certificates": {"secret": OWN}},
        "certificates.secret is set but certificates.mode is controller",
    ),
    "an issuer that nobody asked for": (
        {"certificates": {"certManager": {"issuerRef": {"name": "ca"}}}},
        "issuerRef is set but certificates.mode is controller",
    ),
    "an issuer without a name": (
        {"certificates": {"mode": "cert-manager", "certManager": {"issuerRef": {"kind": "ClusterIssuer"}}}},
        "issuerRef has no name",
    ),
    "an authority that ends too early": (
        {"certificates": {"controller": {"caLifetimeDays": 60}}},
        "caLifetimeDays is 60, less than three times leafLifetimeDays \\(30\\)",
    ),
    "fewest above most": (
        {"webhook": {"autoscaling": {"enabled": True, "minReplicas": 9}}},
        "minReplicas \\(9\\) is more than maxReplicas \\(6\\)",
    ),
    "autoscaling without a request": (
        {"webhook": {"autoscaling": {"enabled": True}, "resources": {"requests": {"cpu": None}}}},
        "webhook.resources.requests.cpu must be set",
    ),
    "alerts on what nobody scrapes": (
        {"monitoring": {"alerts": {"enabled": True}}},
        "monitoring.alerts.enabled is true but monitoring.enabled is not",
    ),
    "partitions of another class": (
        {"config": {"profiles": {"acme": {**ACME, "partitionClasses": ["other"]}}}},
        "config.profiles.acme.partitionClasses has other, which is not in its deviceClasses",
    ),
    "a share of the memory itself": (
        {"config": {"profiles": {"acme": {**ACME, "shares": {"memory": "1Gi"}}}}},
        "config.profiles.acme.shares has the capacity that holds GPU memory",
    ),
}


@pytest.mark.parametrize(("values", "sentence"), CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_a_contradiction_stops_the_rendering_with_a_sentence(every_helm: Helm, values: Values, sentence: str) -> None:
    with pytest.raises(HelmFailed, match=sentence):
        render(every_helm, values)


def test_all_contradictions_are_told_at_once(helm: Helm) -> None:
    values: Values = {
        "certificates": {"mode": "secret", "certManager": {"issuerRef": {"name": "ca"}}},
        "webhook": {"autoscaling": {"enabled": True, "minReplicas": 9}},
    }
    with pytest.raises(HelmFailed) as failure:
        render(helm, values)
    assert str(failure.value).count("\n- ") == 4


def test_the_notes_of_every_installation_name_what_was_installed(every_helm: Helm, tmp_path: Path) -> None:
    for name, values in MATRIX.items():
        text = notes(every_helm, values, tmp_path)
        assert "helm -n modelfit test modelfit" in text, name
        assert "<no value>" not in text
        assert not re.search(r"\n\n\n|[ \t]\n", text), name


@pytest.mark.parametrize(
    ("values", "said", "unsaid"),
    [
        ({}, "made by the controller, in Secret modelfit-tls", "cert-manager"),
        (MATRIX["cert-manager"], "get certificate modelfit-tls", "made by the controller"),
        (MATRIX["secret"], "Secret own, for the name modelfit.modelfit.svc", "made by the controller"),
        ({"admission": {"failurePolicy": "Ignore"}}, "get no claim", "There is one webhook pod"),
        ({"webhook": {"replicas": 1}}, "There is one webhook pod", "nodes' network"),
        (MATRIX["host network"], "pod-security.kubernetes.io/enforce=privileged", "There is one webhook pod"),
        ({"admission": {"excludedNamespaces": ["a", "b"]}}, "nor are those in a, b", "in `default`"),
    ],
)
def test_the_notes_fit_the_values(helm: Helm, values: Values, said: str, unsaid: str, tmp_path: Path) -> None:
    text = notes(helm, values, tmp_path)
    assert said in text
    assert unsaid not in text


def test_the_notes_warn_of_an_installation_in_default(helm: Helm, tmp_path: Path) -> None:
    assert "annotated pods there get no claim" in notes(helm, {}, tmp_path, namespace="default")


def notes(helm: Helm, values: Values, folder: Path, namespace: str = "modelfit") -> str:
    """What `helm install` prints at its end, without a cluster: the notes as a template of a copy of the chart."""
    copy = folder / "chart"
    if not copy.exists():
        shutil.copytree(CHART, copy)
        (copy / "templates" / "NOTES.txt").rename(copy / "notes")
        (copy / "templates" / "notes.yaml").write_text('{notes: {{ tpl (.Files.Get "notes") . | toJson }}}')
    arguments = ("template", "modelfit", str(copy), "--namespace", namespace, "--show-only", "templates/notes.yaml")
    text = helm.run(*arguments, "--values", "-", input=json.dumps(values))
    return str(yaml.safe_load(text)["notes"]).rstrip()
