"""Names that several objects use agree for all release names, namespaces and overrides."""

import re

import pytest
import yaml

from certs import hostnames
from tests.chart.helm import Helm
from tests.chart.matrix import MATRIX, NAMES
from tests.chart.rendering import JsonObject, Rendered, Values, render

pytestmark = pytest.mark.chart

DNS_1035_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
MODES: dict[str, Values] = {name: MATRIX[name] for name in ("defaults", "cert-manager", "secret")}

each_name = pytest.mark.parametrize(("release", "namespace", "extra"), NAMES.values(), ids=NAMES.keys())
each_mode = pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())


@each_name
@each_mode
def test_names_are_consistent(helm: Helm, release: str, namespace: str, extra: Values, mode: Values) -> None:
    rendered = render(helm, {**mode, **extra}, release=release, namespace=namespace)
    check_service_selects_the_webhook(rendered, namespace)
    check_certificate_matches_service_and_mount(rendered, namespace)
    check_service_accounts_have_only_their_roles(rendered, namespace)
    check_pods_mount_their_settings(rendered)
    check_selectors_match_only_their_pods(rendered)
    check_controller_may_use_its_lease(rendered, namespace)


@each_name
def test_names_are_valid_and_short_enough(helm: Helm, release: str, namespace: str, extra: Values) -> None:
    rendered = render(helm, extra, release=release, namespace=namespace)
    for each in rendered.objects:
        assert isinstance(each["metadata"].get("namespace", ""), str)
        assert DNS_1035_LABEL.fullmatch(each["metadata"]["name"]), each["metadata"]["name"]
        assert len(each["metadata"]["name"]) <= 63
        assert all(len(value) <= 63 for value in each["metadata"]["labels"].values())
    service = rendered.one("Service")["metadata"]["name"]
    # The certificate can hold the name.
    assert hostnames.general_names([f"{service}.{namespace}.svc"])
    assert len(hostnames.common_name([f"{service}.{namespace}.svc"])) <= 64


def test_long_release_names_that_differ_only_at_the_end_give_different_names(helm: Helm) -> None:
    one, other = (render(helm, release="r" * 52 + last) for last in "ab")
    assert one.one("Service")["metadata"]["name"] != other.one("Service")["metadata"]["name"]


def test_full_name_override_is_used_unchanged(helm: Helm) -> None:
    assert render(helm, {"fullnameOverride": "claims"}).one("Service")["metadata"]["name"] == "claims"


def test_the_chart_name_is_not_repeated_in_the_name(helm: Helm) -> None:
    assert render(helm).one("Service")["metadata"]["name"] == "modelfit"
    assert render(helm, release="gpu").one("Service")["metadata"]["name"] == "gpu-modelfit"


def check_service_selects_the_webhook(rendered: Rendered, namespace: str) -> None:
    service, deployment = rendered.one("Service"), rendered.one("Deployment", "-webhook")
    (port,) = service["spec"]["ports"]
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert port["targetPort"] in [each["name"] for each in container["ports"]]
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for hook in rendered.one(kind)["webhooks"]:
            called = hook["clientConfig"]["service"]
            assert (called["name"], called["namespace"]) == (service["metadata"]["name"], namespace)
            assert called["port"] == port["port"]


def check_certificate_matches_service_and_mount(rendered: Rendered, namespace: str) -> None:
    service = rendered.one("Service")["metadata"]["name"]
    volumes = {
        each["name"]: each for each in rendered.one("Deployment", "-webhook")["spec"]["template"]["spec"]["volumes"]
    }
    secret = volumes["certs"]["secret"]["secretName"]
    configurations = {
        kind: rendered.one(kind)["metadata"]
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    }
    own = yaml.safe_load(rendered.settings).get("certificates")
    certificates = [each for each in rendered.of("Certificate") if not each["spec"].get("isCA")]
    if own:
        assert rendered.one("Secret")["metadata"]["name"] == own["secret"] == secret
        assert (own["service"], own["namespace"]) == (service, namespace)
        assert own["mutatingWebhookConfiguration"] == configurations["MutatingWebhookConfiguration"]["name"]
        assert own["validatingWebhookConfiguration"] == configurations["ValidatingWebhookConfiguration"]["name"]
        assert _resource_names(rendered.one("Role", "-controller"), "secrets") == {own["secret"]}
        granted = _resource_names(rendered.one("ClusterRole"), "mutatingwebhookconfigurations")
        assert granted == {each["name"] for each in configurations.values()}
    elif certificates:
        (leaf,) = certificates
        assert leaf["spec"]["secretName"] == secret
        assert leaf["spec"]["dnsNames"] == [f"{service}.{namespace}.svc"]
        for each in configurations.values():
            assert each["annotations"]["cert-manager.io/inject-ca-from"] == f"{namespace}/{leaf['metadata']['name']}"
    else:
        assert secret == "own"
    for monitor in rendered.of("ServiceMonitor"):
        tls = monitor["spec"]["endpoints"][0]["tlsConfig"]
        assert tls["serverName"] == f"{service}.{namespace}.svc"


def check_service_accounts_have_only_their_roles(rendered: Rendered, namespace: str) -> None:
    accounts = {each["metadata"]["name"] for each in rendered.of("ServiceAccount")}
    assert {pod["spec"]["serviceAccountName"] for _, pod in rendered.pods} == accounts
    roles = {each["metadata"]["name"] for kind in ("Role", "ClusterRole") for each in rendered.of(kind)}
    for binding in rendered.of("RoleBinding") + rendered.of("ClusterRoleBinding"):
        assert binding["roleRef"]["name"] in roles
        (subject,) = binding["subjects"]
        assert subject["name"] in accounts
        assert subject["namespace"] == namespace
        assert subject["name"] == binding["roleRef"]["name"]


def check_pods_mount_their_settings(rendered: Rendered) -> None:
    for deployment in rendered.of("Deployment"):
        metadata, spec = deployment["spec"]["template"]["metadata"], deployment["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        volumes = {each["name"]: each for each in spec["volumes"]}
        mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
        (item,) = volumes[mounts["/etc/modelfit"]]["downwardAPI"]["items"]
        (key,) = [each for each in metadata["annotations"] if item["fieldRef"]["fieldPath"].endswith(f"['{each}']")]
        assert metadata["annotations"][key] == rendered.settings
        assert item["path"] == "config.yaml"
        assert container["args"][container["args"].index("--config") + 1] == "/etc/modelfit/config.yaml"
        assert set(mounts.values()) == set(volumes)


def check_selectors_match_only_their_pods(rendered: Rendered) -> None:
    for deployment in rendered.of("Deployment"):
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()
        component = labels["app.kubernetes.io/component"]
        for kind, field in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
            assert rendered.one(kind, f"-{component}")["spec"][field]["matchLabels"].items() <= labels.items()
        for constraint in deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]:
            assert constraint["labelSelector"]["matchLabels"].items() <= labels.items()
    one, other = (each["spec"]["selector"]["matchLabels"] for each in rendered.of("Deployment"))
    assert one != other


def check_controller_may_use_its_lease(rendered: Rendered, namespace: str) -> None:
    (container,) = rendered.one("Deployment", "-controller")["spec"]["template"]["spec"]["containers"]
    lease = container["args"][container["args"].index("--lease") + 1]
    where, _, name = lease.partition("/")
    assert where == namespace
    assert _resource_names(rendered.one("Role", "-controller"), "leases") == {name}


def _resource_names(role: JsonObject, resource: str) -> set[str]:
    rules = [rule for rule in role["rules"] if resource in rule["resources"]]
    return {name for rule in rules for name in rule.get("resourceNames", [])}
