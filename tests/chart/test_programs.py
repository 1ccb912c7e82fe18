"""The programs accept what the chart passes to them: arguments, settings, annotations, ports."""

import subprocess
import sys
from argparse import Namespace
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
def test_the_programs_accept_their_arguments(helm: Helm, values: Values) -> None:
    for deployment in render(helm, values).of("Deployment"):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        parsed = cli._parser(container["args"][0]).parse_args(container["args"])
        port = parsed.port if parsed.command == "serve" else parsed.metrics_port
        assert port == container["ports"][0]["containerPort"]
        assert parsed.host == values.get("listenAddress", "0.0.0.0")


def test_the_webhook_reads_the_client_ca_from_its_config_map(helm: Helm) -> None:
    def arguments(values: Values) -> tuple[Namespace, JsonObject]:
        spec = render(helm, values).one("Deployment", "-webhook")["spec"]["template"]["spec"]
        return cli._parser("serve").parse_args(spec["containers"][0]["args"]), spec

    parsed, spec = arguments(MATRIX["everything"])
    assert parsed.client_name == ["kube-apiserver", "other"]
    (mount,) = [each for each in spec["containers"][0]["volumeMounts"] if each["name"] == "client-ca"]
    (volume,) = [each for each in spec["volumes"] if each["name"] == "client-ca"]
    (item,) = volume["configMap"]["items"]
    assert Path(mount["mountPath"], item["path"]) == parsed.client_ca_file
    assert volume["configMap"]["name"] == "client-ca"
    parsed, spec = arguments({})
    assert (parsed.client_ca_file, parsed.client_name) == (None, [])
    assert "client-ca" not in [each["name"] for each in spec["volumes"]]


@each_values
def test_the_programs_accept_their_settings(helm: Helm, values: Values, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(render(helm, values).settings)
    settings = load(file, {})
    assert settings.excluded_namespaces[0] == "kube-system"
    given = values.get("config")
    assert settings.profile == (given["profile"] if isinstance(given, dict) else "nvidia")


def test_numbers_stay_numbers_in_the_settings(helm: Helm, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(render(helm, {"config": {"maxConnections": 65536, "drainSeconds": 2.5}}).settings)
    assert (load(file, {}).max_connections, load(file, {}).drain_seconds) == (65536, 2.5)


def test_the_termination_grace_period_covers_pre_stop_and_drain(helm: Helm) -> None:
    def grace(values: Values) -> int:
        spec = render(helm, values).one("Deployment", "-webhook")["spec"]["template"]["spec"]
        seconds: int = spec["terminationGracePeriodSeconds"]
        return seconds

    pre_stop = 5
    # gunicorn gives its workers drainSeconds and 30 seconds more.
    assert grace({}) > pre_stop + Settings().drain_seconds + 30
    assert grace({"config": {"drainSeconds": 100.5}}) > pre_stop + 100.5 + 30
    assert grace({"config": {"drainSeconds": 0}, "webhook": {"preStopSeconds": 0}}) > 30


def test_annotation_and_label_keys_are_those_of_the_program(helm: Helm) -> None:
    rendered = render(helm)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for hook in rendered.one(kind)["webhooks"]:
            expression = hook["matchConditions"][0]["expression"]
            assert f"'{constants.MODEL_FIT}' in " in expression
            if hook["name"].startswith("workloads."):
                # An objectSelector does not see the labels of pod templates.
                assert f"metadata.labels['{constants.INJECT}'] == '{constants.INJECT_DISABLED}'" in expression
                continue
            assert hook["objectSelector"]["matchExpressions"] == [
                {"key": constants.INJECT, "operator": "NotIn", "values": [constants.INJECT_DISABLED]}
            ]


def test_probes_use_existing_ports_and_paths(helm: Helm) -> None:
    for deployment in render(helm).of("Deployment"):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        names = {port["name"] for port in container["ports"]}
        scheme = "HTTPS" if container["name"] == "webhook" else None
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            request = container[probe]["httpGet"]
            assert request["port"] in names
            assert request.get("scheme") == scheme
            assert request["path"] == ("/readyz" if probe == "readinessProbe" else "/healthz")


def test_with_host_network_the_old_pod_ends_before_the_new_one_starts(helm: Helm) -> None:
    def strategy(values: Values) -> JsonObject:
        rolling: JsonObject = render(helm, values).one("Deployment", "-webhook")["spec"]["strategy"]["rollingUpdate"]
        return rolling

    assert strategy({}) == {"maxSurge": 1, "maxUnavailable": 0}
    assert strategy(MATRIX["host network"]) == {"maxSurge": 0, "maxUnavailable": 1}


def test_with_autoscaling_the_deployment_sets_no_replicas(helm: Helm) -> None:
    rendered = render(helm, MATRIX["everything"])
    deployment = rendered.one("Deployment", "-webhook")
    assert "replicas" not in deployment["spec"]
    target = rendered.one("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", deployment["metadata"]["name"])


def test_chart_and_programs_have_the_same_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == chart["version"] == version("modelfit-webhook")


def test_helm_test_uses_tests_namespace_and_the_scheduling_of_the_webhook(helm: Helm) -> None:
    scheduling: Values = {"nodeSelector": {"pool": "system"}, "tolerations": [{"operator": "Exists"}]}
    rendered = render(helm, {"webhook": scheduling, "tests": {"namespace": "models"}})
    pod = rendered.one("Pod")
    assert scheduling.items() <= pod["spec"].items()
    assert pod["spec"]["containers"][0]["args"][1:] == ["models", "kube-system,modelfit", "60"]
    for kind in ("Role", "RoleBinding"):
        assert rendered.one(kind, "-helm-test")["metadata"]["namespace"] == "models"


def test_helm_test_fails_at_once_in_an_excluded_namespace(helm: Helm) -> None:
    pod = render(helm, {"admission": {"excludedNamespaces": ["default"]}}).one("Pod")
    program = [sys.executable, "-c", *pod["spec"]["containers"][0]["args"]]
    completed = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
    assert completed.returncode == 1
    assert "the webhook is not called in namespace default; set tests.namespace to another one" in completed.stderr
