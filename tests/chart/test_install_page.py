"""docs/install.md, tried: its commands (the blocks marked `sh`) run in a shell, by the real helm and kubectl."""

import re
from pathlib import Path

import pytest
import yaml

from testbed.certificates import mint
from testbed.paths import path
from testbed.waiting import wait_for
from tests.chart.helm import Helm
from tests.chart.installing import Cluster, injected, labelled
from tests.chart.pages import Page, Shell
from tests.chart.rendering import render
from tools.generate import chart_values

PAGE = Page("install.md")
OURS = "app.kubernetes.io/name=modelfit"


@pytest.mark.chart
@pytest.mark.cluster
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", ["secret", "controller"])
def test_the_page_from_installation_to_removal(cluster: Cluster, helm: Helm, mode: str, tmp_path: Path) -> None:
    shell = Shell(cluster, helm, tmp_path, PAGE)
    pair = mint(tmp_path, hosts=("modelfit.modelfit.svc",))
    assert pair.ca.name == "ca.crt"
    assert "gpu.nvidia.com" in shell.run("What is needed")
    said = shell.run("Install") if mode == "controller" else shell.run("Whose certificate")
    assert "Succeeded" in said
    said = shell.run("See it work")
    assert "Warning: modelfit: claim llama-7b-claim-" in said
    assert "resourceClaimName: llama-7b-claim-" in said
    shell.run("Upgrade, roll back")
    cluster.wait_ready()
    difference = shell.run("GitOps")
    # In what is rendered the certificate is the controller's.
    assert (difference == "") is (mode == "controller"), difference
    shell.run("Remove")
    assert cluster.create_pod().status == 201
    wait_for("nothing is left", lambda: labelled(cluster.api, OURS), lambda found: not found)
    wait_for("the namespace is gone", lambda: cluster.api.find(path("Namespace", None, "modelfit")), lambda it: not it)


@pytest.mark.chart
@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_the_namespace_was_deleted_instead(cluster: Cluster, helm: Helm, tmp_path: Path) -> None:
    shell = Shell(cluster, helm, tmp_path, PAGE)
    mint(tmp_path, hosts=("modelfit.modelfit.svc",))
    shell.run("Whose certificate")
    cluster.api.delete(path("Namespace", None, "modelfit"))
    wait_for("no webhook runs", lambda: cluster.kubelet.running("webhook"), lambda pods: not pods, timeout=60)
    assert cluster.create_pod(annotated=False).status == 201
    assert cluster.create_pod().status == 500
    shell.run("Remove", 1)
    answer = wait_for("annotated pods are admitted", cluster.create_pod, lambda seen: seen.status == 201)
    assert not injected(answer)
    wait_for("nothing is left", lambda: labelled(cluster.api, OURS), lambda found: not found, timeout=60)


@pytest.mark.chart
def test_what_argo_cd_is_told_to_ignore_is_what_others_write(helm: Helm) -> None:
    (text,) = PAGE.blocks("GitOps", "yaml")
    rules = yaml.safe_load(text)["spec"]["ignoreDifferences"]
    rendered = render(helm)
    for rule in rules:
        found = rendered.one(rule["kind"])
        group = found["apiVersion"].partition("/")[0] if "/" in found["apiVersion"] else None
        assert rule.get("group") == group
        assert rule.get("name", found["metadata"]["name"]) == found["metadata"]["name"]


def test_the_page_names_values_that_exist() -> None:
    leaves = {leaf.name for value in chart_values.load() for leaf in value.leaves}
    groups = {name.partition(".")[0] for name in leaves}
    text = PAGE.text
    for name in re.findall(r"(?:--set(?:-file)? |`)([a-z][A-Za-z]*(?:\.[A-Za-z]+)+)", text):
        if name.partition(".")[0] in groups:
            assert name in leaves or name.startswith("config."), f"{name} is no value"
