"""The connection to the API server: service account, token rotation, proxies, an untrusted certificate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from testbed.certificates import mint
from testbed.controllers import (
    NAMESPACE,
    NO_LEADER_ELECTION,
    USER,
    controller,
    grant_controller_rbac,
    running_controller,
)
from testbed.controlplane import ControlPlane
from testbed.injected_pods import create_all, injected_pod, wait_each_pod_has_its_claim
from testbed.namespaces import Namespace
from testbed.paths import path
from testbed.waiting import wait_for
from webhook.cluster import client_config
from webhook.cluster.api import Api
from webhook.cluster.api_errors import ApiError, ErrorReason

pytestmark = pytest.mark.cluster

DEAD_PROXY = "http://127.0.0.1:1"


@pytest.fixture
def service_account(controlplane: ControlPlane, tmp_path: Path) -> Path:
    """The files that the kubelet mounts into the controller's pod."""
    grant_controller_rbac(controlplane)
    (tmp_path / "token").write_text(controlplane.token(USER))
    (tmp_path / "ca.crt").write_bytes(controlplane.ca.read_bytes())
    (tmp_path / "namespace").write_text(NAMESPACE)
    return tmp_path


def in_cluster(plane: ControlPlane, folder: Path) -> Api:
    host, _, port = plane.server.removeprefix("https://").partition(":")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    config = client_config.load_in_cluster(environ, folder)
    assert config.namespace == NAMESPACE
    return Api(config, connections=2, user_agent="test")


def test_the_service_account_reaches_the_api_server(controlplane: ControlPlane, service_account: Path) -> None:
    items, version = in_cluster(controlplane, service_account).list_objects("/api/v1/pods", {})
    assert isinstance(items, list)
    assert version


def test_a_proxy_is_not_used_inside_the_cluster(
    controlplane: ControlPlane, service_account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, DEAD_PROXY)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    in_cluster(controlplane, service_account).list_objects("/api/v1/pods", {})


def test_a_kubeconfig_respects_https_proxy_and_no_proxy(
    controlplane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, DEAD_PROXY)
    file = str(controlplane.kubeconfig())
    for exempt, works in (("127.0.0.0/8", True), ("example.org", False)):
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, exempt)
        api = Api(client_config.load_kubeconfig(file), connections=1, user_agent="test")
        if works:
            api.call("GET", "/version")
        else:
            with pytest.raises(ApiError) as raised:
                api.call("GET", "/version")
            assert raised.value.reason is ErrorReason.UNREACHABLE


def test_a_rotated_token_is_read_again_when_the_old_one_is_refused(
    controlplane: ControlPlane, service_account: Path
) -> None:
    """Deleting the account revokes its tokens at once; a rotated token expires after an hour."""
    user = f"system:serviceaccount:{NAMESPACE}:rotated"
    old = controlplane.token(user)
    (service_account / "token").write_text(old)
    api = in_cluster(controlplane, service_account)
    me = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    api.call("POST", reviews, body=me)
    controlplane.api().delete(path("ServiceAccount", NAMESPACE, "rotated"))

    def refused() -> bool:
        try:
            api.call("POST", reviews, body=me)
        except ApiError as error:
            return error.reason is ErrorReason.UNAUTHORIZED
        return False

    # The API server caches successful authentications for ten seconds.
    wait_for("the old token is refused", refused)
    (service_account / "token").write_text(controlplane.token(user))
    status = api.call("POST", reviews, body=me)["status"]
    assert isinstance(status, dict)
    assert status["userInfo"]["username"] == user


def test_an_untrusted_server_gets_no_request(controlplane: ControlPlane, tmp_path: Path) -> None:
    text = controlplane.kubeconfig().read_text()
    other = mint(tmp_path)
    config = yaml.safe_load(text)
    cluster = config["clusters"][0]["cluster"]
    del cluster["certificate-authority-data"]
    cluster["certificate-authority"] = str(other.ca)
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    with pytest.raises(ApiError) as raised:
        Api(client_config.load_kubeconfig(str(file)), connections=1, user_agent="test").call("GET", "/version")
    assert raised.value.reason is ErrorReason.UNTRUSTED


def test_the_controller_works_with_a_dead_proxy_that_no_proxy_excludes(
    controlplane: ControlPlane, namespace: Namespace
) -> None:
    environment = NO_LEADER_ELECTION | {
        "HTTPS_PROXY": DEAD_PROXY,
        "https_proxy": DEAD_PROXY,
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    with running_controller(controlplane, environment=environment):
        namespace.create(injected_pod("llama"))
        wait_each_pod_has_its_claim(namespace)


def test_an_unusable_kubeconfig_is_a_usage_error(controlplane: ControlPlane, tmp_path: Path) -> None:
    for content in (None, "", "apiVersion: v1\nkind: Config\n", "{"):
        file = tmp_path / "kubeconfig"
        if content is not None:
            file.write_text(content)
        made = controller(controlplane, kubeconfig=file)
        made.process.start()
        try:
            assert made.process.wait() == 2
            assert "kubeconfig" in made.process.output()
            assert "--kubeconfig" in made.process.output()
            assert ".;" not in made.process.output()
            assert "Traceback" not in made.process.output()
        finally:
            made.process.kill()


def test_an_insecure_kubeconfig_is_one_warning_at_the_start(
    controlplane: ControlPlane, namespace: Namespace, tmp_path: Path
) -> None:
    config = yaml.safe_load(controlplane.kubeconfig(USER).read_text())
    cluster = config["clusters"][0]["cluster"]
    del cluster["certificate-authority-data"]
    cluster["insecure-skip-tls-verify"] = True
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    with running_controller(controlplane, kubeconfig=file, environment=NO_LEADER_ELECTION) as started:
        create_all(namespace, [injected_pod(f"llama-{number}") for number in range(10)])
        wait_each_pod_has_its_claim(namespace)
    lines = started.process.output().splitlines()
    (warning,) = [json.loads(line) for line in lines if "insecure" in line.lower()]
    assert (warning["level"], warning["server"]) == ("warning", controlplane.server)
    # Every line is a record of our log.
    assert all(isinstance(json.loads(line), dict) for line in lines)
