"""A dry run shows the injection and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from testbed.api import JsonObject
from testbed.controllers import Controller, running_webhook_and_controller
from testbed.controlplane import ControlPlane
from testbed.injected_pods import ANNOTATED
from testbed.namespaces import Namespace
from testbed.pods import pod
from testbed.waiting import consistently

pytestmark = pytest.mark.cluster

KINDS = ("Pod", "ResourceClaim", "ResourceClaimTemplate", "Event", "ConfigMap", "Secret", "Lease")


@pytest.fixture(scope="module")
def cluster(controlplane: ControlPlane) -> Iterator[Controller]:
    with running_webhook_and_controller(controlplane) as controller:
        yield controller


def all_objects(namespace: Namespace) -> list[str]:
    """The names of all objects in the namespace."""
    return sorted(
        f"{kind}/{item['metadata']['name']}" for kind in KINDS for item in namespace.api.list(namespace.path(kind))
    )


def annotated(namespace: Namespace) -> JsonObject:
    manifest = pod("llama", annotations=ANNOTATED)
    manifest["metadata"]["namespace"] = namespace.name
    return manifest


def test_a_server_side_dry_run_shows_the_injection_and_the_warning(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace
) -> None:
    before = all_objects(namespace)
    result = controlplane.kubectl(
        "apply", "--dry-run=server", "--output=json", "--filename=-", input=annotated(namespace)
    ).ok()
    shown = json.loads(result.stdout)
    claim = shown["metadata"]["annotations"]["llmfit.ai/claim"]
    assert shown["spec"]["resourceClaims"] == [{"name": "modelfit", "resourceClaimName": claim}]
    assert shown["spec"]["containers"][0]["resources"]["claims"] == [{"name": "modelfit"}]
    assert shown["metadata"]["labels"]["llmfit.ai/injected"] == "true"
    assert any("8Gi" in warning for warning in result.warnings)
    consistently("nothing was created", lambda: all_objects(namespace), lambda found: found == before, seconds=3)


def test_a_diff_shows_the_injection_and_the_warning(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace
) -> None:
    before = all_objects(namespace)
    result = controlplane.kubectl("diff", "--filename=-", input=annotated(namespace))
    # 1: there are differences; more than 1 is a failure.
    assert result.returncode == 1, result.stderr
    assert "resourceClaimName: llama-7b-claim-" in result.stdout
    assert "llmfit.ai/injected" in result.stdout
    assert any("8Gi" in warning for warning in result.warnings)
    consistently("nothing was created", lambda: all_objects(namespace), lambda found: found == before, seconds=3)


def test_a_dry_run_reports_an_invalid_annotation(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace
) -> None:
    invalid = annotated(namespace)
    invalid["metadata"]["annotations"] = {"llmfit.ai/model-fit": '{"min_vram_gb": -8}'}
    result = controlplane.kubectl("apply", "--dry-run=server", "--filename=-", input=invalid)
    assert result.returncode != 0
    assert "min_vram_gb" in result.stderr


def test_a_device_plugin_limit_is_reported_once_although_it_is_defaulted_to_a_request(
    controlplane: ControlPlane, cluster: Controller, namespace: Namespace
) -> None:
    target = annotated(namespace)
    target["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    result = controlplane.kubectl("apply", "--dry-run=server", "--filename=-", input=target)
    assert result.returncode != 0
    assert result.stderr.count("a device-plugin request") == 1
    assert "spec.containers[0].resources.limits[nvidia.com/gpu]: a device-plugin request" in result.stderr
