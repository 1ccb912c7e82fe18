"""What the chart tells the programs, they understand: arguments, settings, annotations, ports."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from tests.chart.helm import Helm
from tests.chart.matrix import MATRIX
from tests.chart.rendering import JsonObject, Values, render
from tools.generate.chart_values import CHART
from webhook import cli, constants
from webhook.settings import Settings, load

pytestmark = pytest.mark.chart

each_values = pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())


@each_values
def test_the_programs_take_their_arguments(helm: Helm, values: Values) -> None:
    for deployment in render(helm, values).of("Deployment"):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        parsed = cli._parser(container["args"][0]).parse_args(container["args"])
        port = parsed.port if parsed.command == "serve" else parsed.metrics_port
        assert port == container["ports"][0]["containerPort"]
        assert parsed.host == values.get("listenAddress", "0.0.0.0")


@each_values
def test_the_programs_take_their_settings(helm: Helm, values: Values, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(render(helm, values).settings)
    settings = load(file, {})
    assert settings.excluded_namespaces[0] == "kube-system"
    given = values.get("config")
    assert settings.profile == (given["profile"] if isinstance(given, dict) else "nvidia")


def test_numbers_reach_the_settings_as_numbers(helm: Helm, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(render(helm, {"config": {"maxConnections": 65536, "drainSeconds": 2.5}}).settings)
    assert (load(file, {}).max_connections, load(file, {}).drain_seconds) == (65536, 2.5)


def test_a_pod_is_given_the_time_that_it_takes_to_end(helm: Helm) -> None:
    def grace(values: Values) -> int:
        spec = render(helm, values).one("Deployment", "-webhook")["spec"]["template"]["spec"]
        seconds: int = spec["terminationGracePeriodSeconds"]
        return seconds

    pause = 5
    # gunicorn gives its workers the drain time and 30 seconds.
    assert grace({}) > pause + Settings().drain_seconds + 30
    assert grace({"config": {"drainSeconds": 100.5}}) > pause + 100.5 + 30
    assert grace({"config": {"drainSeconds": 0}, "webhook": {"preStopSeconds": 0}}) > 30


def test_the_keys_are_those_of_the_program(helm: Helm) -> None:
    rendered = render(helm)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for hook in rendered.one(kind)["webhooks"]:
            expression = hook["matchConditions"][0]["expression"]
            assert f"'{constants.MODEL_FIT}' in " in expression
            if hook["name"].startswith("workloads."):
                # Its templates may be labelled, where no selector looks.
                assert f"metadata.labels['{constants.INJECT}'] == '{constants.INJECT_DISABLED}'" in expression
                continue
            assert hook["objectSelector"]["matchExpressions"] == [
                {"key": constants.INJECT, "operator": "NotIn", "values": [constants.INJECT_DISABLED]}
            ]


def test_the_probes_ask_for_paths_on_ports_that_exist(helm: Helm) -> None:
    for deployment in render(helm).of("Deployment"):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        names = {port["name"] for port in container["ports"]}
        scheme = "HTTPS" if container["name"] == "webhook" else None
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            asked = container[probe]["httpGet"]
            assert asked["port"] in names
            assert asked.get("scheme") == scheme
            assert asked["path"] == ("/readyz" if probe == "readinessProbe" else "/healthz")


def test_host_network_leaves_no_two_pods_waiting_for_one_port(helm: Helm) -> None:
    def strategy(values: Values) -> JsonObject:
        found: JsonObject = render(helm, values).one("Deployment", "-webhook")["spec"]["strategy"]["rollingUpdate"]
        return found

    assert strategy({}) == {"maxSurge": 1, "maxUnavailable": 0}
    assert strategy(MATRIX["host network"]) == {"maxSurge": 0, "maxUnavailable": 1}


def test_the_autoscaler_alone_decides_how_many_pods_there_are(helm: Helm) -> None:
    rendered = render(helm, MATRIX["everything"])
    deployment = rendered.one("Deployment", "-webhook")
    assert "replicas" not in deployment["spec"]
    target = rendered.one("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", deployment["metadata"]["name"])


def test_the_chart_is_of_the_programs_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == chart["version"] == version("modelfit-webhook")


def test_helm_test_asks_in_the_namespace_that_is_given_and_runs_where_the_webhook_may(helm: Helm) -> None:
    scheduling: Values = {"nodeSelector": {"pool": "system"}, "tolerations": [{"operator": "Exists"}]}
    rendered = render(helm, {"webhook": scheduling, "tests": {"namespace": "models"}})
    pod = rendered.one("Pod")
    assert scheduling.items() <= pod["spec"].items()
    assert pod["spec"]["containers"][0]["args"][1:] == ["models", "kube-system,modelfit", "60"]
    for kind in ("Role", "RoleBinding"):
        assert rendered.one(kind, "-helm-test")["metadata"]["namespace"] == "models"


def test_helm_test_fails_at_once_in_a_namespace_that_the_webhook_leaves_alone(helm: Helm) -> None:
    pod = render(helm, {"admission": {"excludedNamespaces": ["default"]}}).one("Pod")
    program = [sys.executable, "-c", *pod["spec"]["containers"][0]["args"]]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "leaves namespace default alone; set tests.namespace to another one" in done.stderr
