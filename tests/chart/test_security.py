"""What the pods may do: nothing that they do not need."""

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
        on_host = name.endswith("-webhook") and values == MATRIX["host network"]
        assert spec.get("hostNetwork", False) is on_host
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
def test_the_webhook_sees_its_own_key_and_not_the_authoritys(helm: Helm, values: Values) -> None:
    volumes = render(helm, values).one("Deployment", "-webhook")["spec"]["template"]["spec"]["volumes"]
    (secret,) = [volume["secret"] for volume in volumes if "secret" in volume]
    assert [item["key"] for item in secret["items"]] == ["tls.crt", "tls.key"]


@each_values
def test_permissions_have_no_wildcard_and_secrets_and_webhooks_go_by_name(helm: Helm, values: Values) -> None:
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
def test_the_release_makes_no_namespace_which_would_be_removed_with_all_that_others_have_in_it(
    helm: Helm, values: Values
) -> None:
    assert not render(helm, values).of("Namespace")


def test_permissions_on_certificates_are_there_only_where_the_controller_makes_them(helm: Helm) -> None:
    def resources(values: Values) -> set[str]:
        roles = [role for kind in ("Role", "ClusterRole") for role in render(helm, values).of(kind)]
        return {resource for role in roles for rule in role["rules"] for resource in rule["resources"]}

    certificates = {"secrets", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
    assert certificates <= resources({})
    for mode in ("cert-manager", "secret"):
        assert not certificates & resources(MATRIX[mode])


def test_the_network_policies_let_the_webhook_call_nobody_and_the_controller_only_the_api_server(helm: Helm) -> None:
    rendered = render(helm, {"networkPolicy": {"apiServerPorts": [6443]}})
    webhook, controller = (rendered.one("NetworkPolicy", each)["spec"] for each in ("-webhook", "-controller"))
    assert webhook["policyTypes"] == controller["policyTypes"] == ["Ingress", "Egress"]
    assert "egress" not in webhook
    assert controller["egress"] == [{"ports": [{"protocol": "TCP", "port": 6443}]}]
    assert _named_ports(webhook) == {"https"} <= _container_ports(rendered.one("Deployment", "-webhook"))
    assert _named_ports(controller) == {"metrics"} <= _container_ports(rendered.one("Deployment", "-controller"))


def _named_ports(policy: JsonObject) -> set[str]:
    return {port["port"] for rule in policy["ingress"] for port in rule["ports"]}


def _container_ports(deployment: JsonObject) -> set[str]:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {port["name"] for port in container["ports"]}


def test_the_permissions_on_certificates_are_those_that_the_controller_is_tested_with(helm: Helm) -> None:
    rendered = render(helm, release="modelfit", namespace="modelfit")
    inside, outside = certified.rules("modelfit-tls", "modelfit")
    assert inside == [rule for rule in rendered.one("Role", "-controller")["rules"] if rule["resources"] == ["secrets"]]
    hooks = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]
    assert outside == [
        rule for rule in rendered.one("ClusterRole", "-controller")["rules"] if rule["resources"] == hooks
    ]


def test_every_webhook_has_a_name_by_which_the_controller_knows_it_as_its_own(helm: Helm) -> None:
    rendered = render(helm)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        names = [hook["name"] for hook in rendered.one(kind)["webhooks"]]
        assert names
        assert all(name.endswith(constants.WEBHOOK_NAMES) for name in names)
