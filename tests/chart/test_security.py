"""Pods run restricted and have only the permissions that they need."""

import pytest

from testbed import certified
from tests.chart.helm import Helm
from tests.chart.matrix import MATRIX
from tests.chart.rendering import JsonObject, Values, render
from webhook import constants

pytestmark = pytest.mark.chart

each_values = pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())
VOLUMES = {"configMap", "secret", "emptyDir", "projected", "downwardAPI"}


@each_values
def test_every_pod_runs_restricted(helm: Helm, values: Values) -> None:
    # https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
    for name, pod in render(helm, values).pods:
        spec = pod["spec"]
        host_network = name.endswith("-webhook") and values == MATRIX["host network"]
        assert spec.get("hostNetwork", False) is host_network
        assert not {"hostPID", "hostIPC"} & set(spec)
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"].get("runAsUser") != 0
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert all(set(volume) - {"name"} <= VOLUMES for volume in spec.get("volumes", []))
        for container in spec["containers"] + spec.get("initContainers", []):
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert context["readOnlyRootFilesystem"] is True
            assert all(mount["readOnly"] for mount in container.get("volumeMounts", []))
            assert all(port["containerPort"] >= 1024 for port in container.get("ports", []))


@each_values
def test_the_webhook_has_no_credentials_and_no_permissions(helm: Helm, values: Values) -> None:
    rendered = render(helm, values)
    spec = rendered.one("Deployment", "-webhook")["spec"]["template"]["spec"]
    assert spec["automountServiceAccountToken"] is False
    for binding in rendered.of("RoleBinding") + rendered.of("ClusterRoleBinding"):
        assert spec["serviceAccountName"] not in [subject["name"] for subject in binding["subjects"]]


@each_values
def test_the_webhook_does_not_mount_the_ca_key(helm: Helm, values: Values) -> None:
    volumes = render(helm, values).one("Deployment", "-webhook")["spec"]["template"]["spec"]["volumes"]
    (secret,) = [volume["secret"] for volume in volumes if "secret" in volume]
    assert [item["key"] for item in secret["items"]] == ["tls.crt", "tls.key"]


@each_values
def test_rules_have_no_wildcard_and_name_secrets_and_webhook_configurations(helm: Helm, values: Values) -> None:
    for kind in ("Role", "ClusterRole"):
        for role in render(helm, values).of(kind):
            for rule in role["rules"]:
                assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
                named = {"secrets", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
                if named & set(rule["resources"]):
                    assert rule["resourceNames"]
                    assert not {"create", "list", "watch", "delete", "deletecollection"} & set(rule["verbs"])
                assert not {"delete", "deletecollection", "escalate", "bind", "impersonate"} & set(rule["verbs"])


@each_values
def test_the_chart_creates_no_namespace(helm: Helm, values: Values) -> None:
    # `helm uninstall` would remove it with everything that others created in it.
    assert not render(helm, values).of("Namespace")


def test_certificate_permissions_exist_only_with_mode_controller(helm: Helm) -> None:
    def resources(values: Values) -> set[str]:
        roles = [role for kind in ("Role", "ClusterRole") for role in render(helm, values).of(kind)]
        return {resource for role in roles for rule in role["rules"] for resource in rule["resources"]}

    certificates = {"secrets", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
    assert certificates <= resources({})
    for mode in ("cert-manager", "secret"):
        assert not certificates & resources(MATRIX[mode])


def test_egress_is_denied_for_the_webhook_and_limited_to_the_api_server_for_the_controller(helm: Helm) -> None:
    rendered = render(helm, {"networkPolicy": {"apiServerPorts": [6443]}})
    webhook, controller = (rendered.one("NetworkPolicy", each)["spec"] for each in ("-webhook", "-controller"))
    assert webhook["policyTypes"] == controller["policyTypes"] == ["Ingress", "Egress"]
    assert "egress" not in webhook
    assert controller["egress"] == [{"ports": [{"protocol": "TCP", "port": 6443}]}]
    assert _named_ports(webhook) == {"https"} <= _container_ports(rendered.one("Deployment", "-webhook"))
    assert _named_ports(controller) == {"metrics"} <= _container_ports(rendered.one("Deployment", "-controller"))


def test_traffic_is_limited_to_the_given_sources_and_targets(helm: Helm) -> None:
    prometheus = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    sources = {
        "apiServerPorts": [6443],
        "apiServerCIDRs": ["192.0.2.10/32", "2001:db8::1/128"],
        "webhookSourceCIDRs": ["192.0.2.0/24"],
        "metricsFrom": [prometheus],
    }
    rendered = render(helm, {"networkPolicy": sources})
    webhook, controller = (rendered.one("NetworkPolicy", each)["spec"] for each in ("-webhook", "-controller"))
    assert webhook["ingress"] == [
        {"from": [{"ipBlock": {"cidr": "192.0.2.0/24"}}, prometheus], "ports": [{"protocol": "TCP", "port": "https"}]}
    ]
    assert controller["ingress"] == [{"from": [prometheus], "ports": [{"protocol": "TCP", "port": "metrics"}]}]
    assert controller["egress"] == [
        {
            "to": [{"ipBlock": {"cidr": "192.0.2.10/32"}}, {"ipBlock": {"cidr": "2001:db8::1/128"}}],
            "ports": [{"protocol": "TCP", "port": 6443}],
        }
    ]
    for open_to_all in (render(helm).one("NetworkPolicy", each)["spec"] for each in ("-webhook", "-controller")):
        assert all("from" not in rule for rule in open_to_all["ingress"])


def _named_ports(policy: JsonObject) -> set[str]:
    return {port["port"] for rule in policy["ingress"] for port in rule["ports"]}


def _container_ports(deployment: JsonObject) -> set[str]:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {port["name"] for port in container["ports"]}


def test_certificate_permissions_are_those_that_controller_tests_use(helm: Helm) -> None:
    rendered = render(helm, release="modelfit", namespace="modelfit")
    inside, outside = certified.rules("modelfit-tls", "modelfit")
    assert inside == [rule for rule in rendered.one("Role", "-controller")["rules"] if rule["resources"] == ["secrets"]]
    hooks = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]
    assert outside == [
        rule for rule in rendered.one("ClusterRole", "-controller")["rules"] if rule["resources"] == hooks
    ]


def test_webhook_names_have_the_suffix_by_which_the_controller_finds_them(helm: Helm) -> None:
    rendered = render(helm)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        names = [hook["name"] for hook in rendered.one(kind)["webhooks"]]
        assert names
        assert all(name.endswith(constants.WEBHOOK_NAME_SUFFIX) for name in names)
