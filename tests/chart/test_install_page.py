"""Runs the commands of docs/install.md (its blocks marked `sh`) with helm and kubectl."""

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
def test_commands_from_installation_to_removal(cluster: Cluster, helm: Helm, mode: str, tmp_path: Path) -> None:
    shell = Shell(cluster, helm, tmp_path, PAGE)
    pair = mint(tmp_path, hosts=("modelfit.modelfit.svc",))
    assert pair.ca.name == "ca.crt"
    assert "gpu.nvidia.com" in shell.run("Requirements")
    assert "Succeeded" in shell.run("Install" if mode == "controller" else "Choosing a certificate source")
    output = shell.run("Verify the installation")
    assert "Warning: modelfit: claim llama-7b-claim-" in output
    assert "resourceClaimName: llama-7b-claim-" in output
    shell.run("Upgrade and roll back")
    cluster.wait_ready()
    diff = shell.run("GitOps")
    # The page renders with mode `controller`.
    assert (diff == "") is (mode == "controller"), diff
    shell.run("Uninstall")
    assert cluster.create_pod().status == 201
    wait_for("all objects are deleted", lambda: labelled(cluster.api, OURS), lambda found: not found)
    wait_for("the namespace is gone", lambda: cluster.api.find(path("Namespace", None, "modelfit")), lambda it: not it)


@pytest.mark.chart
@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_commands_after_the_namespace_was_deleted(cluster: Cluster, helm: Helm, tmp_path: Path) -> None:
    shell = Shell(cluster, helm, tmp_path, PAGE)
    mint(tmp_path, hosts=("modelfit.modelfit.svc",))
    shell.run("Choosing a certificate source")
    cluster.api.delete(path("Namespace", None, "modelfit"))
    wait_for("no webhook runs", lambda: cluster.kubelet.running("webhook"), lambda pods: not pods, timeout=60)
    assert cluster.create_pod(annotated=False).status == 201
    assert cluster.create_pod().status == 500
    shell.run("Uninstall", 1)
    answer = wait_for("annotated pods are admitted", cluster.create_pod, lambda answer: answer.status == 201)
    assert not injected(answer)
    wait_for("all objects are deleted", lambda: labelled(cluster.api, OURS), lambda found: not found, timeout=60)


@pytest.mark.chart
def test_the_fields_that_argo_cd_ignores_exist(helm: Helm) -> None:
    (text,) = PAGE.blocks("GitOps", "yaml")
    rules = yaml.safe_load(text)["spec"]["ignoreDifferences"]
    rendered = render(helm)
    for rule in rules:
        obj = rendered.one(rule["kind"])
        group = obj["apiVersion"].partition("/")[0] if "/" in obj["apiVersion"] else None
        assert rule.get("group") == group
        assert rule.get("name", obj["metadata"]["name"]) == obj["metadata"]["name"]


@pytest.mark.parametrize("page", ["install.md", "operations.md"])
def test_pages_name_only_existing_values(page: str) -> None:
    leaves = {leaf.name for value in chart_values.load() for leaf in value.leaves}
    groups = {name.partition(".")[0] for name in leaves}
    for name in re.findall(r"(?:--set(?:-file)? |`)([a-z][A-Za-z]*(?:\.[A-Za-z]+)+)", Page(page).text):
        if name.partition(".")[0] in groups:
            assert name in leaves or name.startswith("config."), f"{name} is not a value of the chart"
