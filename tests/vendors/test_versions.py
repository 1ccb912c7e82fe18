"""The API server accepts every claim in each served version under strict field validation, within its limits of size
and CEL cost, and the same devices are allocated in each."""

from __future__ import annotations

import itertools
import json
from typing import cast

import pytest

from testbed.api import ApiError, JsonObject
from testbed.controlplane import ControlPlane
from tests.vendors import example, nvidia
from tests.vendors.scheduling_trials import PENDING, Trials
from webhook.core import claims
from webhook.core.admission_config import AdmissionConfig
from webhook.core.claims import api_versions, device_request
from webhook.core.profiles import BUILTIN
from webhook.settings import load

pytestmark = pytest.mark.cluster

FIT = json.dumps({"model": "m", "vram_gb": 79.9, "ram_gb": 30, "minBandwidthGBs": 161, "supports_tp": [1, 2, 4, 8]})


def device_request_for(profile: str, count: str, config: AdmissionConfig) -> device_request.DeviceRequest:
    annotations = {"llmfit.ai/model-fit": FIT, "llmfit.ai/profile": profile, "llmfit.ai/device-count": count}
    return device_request.from_annotations(annotations, config)


def dry_run(plane: ControlPlane, manifest: dict[str, object]) -> None:
    """Creates the object in a dry run with strict field validation. Raises ApiError."""
    plane.api().create(cast(JsonObject, manifest), "default", dryRun="All", fieldValidation="Strict")


@pytest.mark.parametrize("version", api_versions.SERVED_VERSIONS)
def test_every_claim_passes_strict_validation(plane: ControlPlane, version: str) -> None:
    for profile, count, kind in itertools.product(BUILTIN, ("1", "2", "31", "auto"), ("claim", "template")):
        for placement, memory in itertools.product(("any", "tightest"), (None, "dra.memory")):
            config = AdmissionConfig(
                placement="tightest" if placement == "tightest" else "any", system_memory_class=memory
            )
            request = device_request_for(profile, count, config)
            manifest = claims.build_manifest(
                request, name="m-claim", kind="template" if kind == "template" else "claim", api_version=version
            )
            dry_run(plane, manifest)


@pytest.mark.parametrize("version", api_versions.SERVED_VERSIONS[1:])
def test_a_claim_of_an_older_version_is_allocated_the_same_devices(plane: ControlPlane, version: str) -> None:
    trials = Trials(plane.api(), version)
    try:
        trials.install(nvidia.CLASSES + example.CLASSES)
        pair = [nvidia.gpu(f"card-{each}", "80Gi") for each in "ab"]
        first = trials.node(nvidia.gpu("lone", "24Gi"), *pair, nvidia.mig("slice", "79Gi"))
        second = trials.node(example.gpu("card", shareable=True))
        trials.settle()

        def outcomes(profile: str, count: str, node: str, gigabytes: float) -> list[object]:
            fit = json.dumps({"vram_gb": gigabytes, "supports_tp": [1, 2]})
            annotations = {"llmfit.ai/model-fit": fit, "llmfit.ai/profile": profile, "llmfit.ai/device-count": count}
            claim_spec = claims.build_spec(device_request.from_annotations(annotations, AdmissionConfig()))
            translated = cast(JsonObject, api_versions.convert_spec(claim_spec, version))
            return [trials.outcome(translated, node) for _ in range(2)]

        assert outcomes("nvidia-mig", "1", first, 30) == [("slice",), ("card-a",)]
        assert outcomes("nvidia", "auto", first, 160) == [PENDING, PENDING]
        assert outcomes("nvidia", "1", first, 24) == [("lone",), ("card-b",)]
        assert outcomes("example", "1", second, 8) == [("card",), PENDING]
    finally:
        trials.clear()


def test_two_devices_of_an_older_version_are_of_one_model(plane: ControlPlane) -> None:
    trials = Trials(plane.api(), "v1beta1")
    try:
        trials.install(nvidia.CLASSES)
        node = trials.node(nvidia.gpu("lone", "80Gi", product="A100"), nvidia.gpu("a"), nvidia.gpu("b"))
        trials.settle()
        claim_spec = claims.build_spec(device_request_for("nvidia", "auto", AdmissionConfig()))
        assert trials.outcome(cast(JsonObject, api_versions.convert_spec(claim_spec, "v1beta1")), node) == ("lone",)
        claim_spec = claims.build_spec(device_request_for("nvidia", "2", AdmissionConfig()))
        assert trials.outcome(cast(JsonObject, api_versions.convert_spec(claim_spec, "v1beta1")), node) == ("a", "b")
    finally:
        trials.clear()


def config_with(selectors: list[str]) -> AdmissionConfig:
    profile = {
        "driver": "gpu.own.test",
        "deviceClasses": ["a", "b", "c", "d"],
        "selectors": selectors,
        "shares": {"cores": "10"},
    }
    return load(
        None, {"MODELFIT_PROFILES": json.dumps({"own": profile}), "MODELFIT_PLACEMENT": "tightest"}
    ).admission_config()


def test_the_largest_custom_profile_is_accepted(plane: ControlPlane) -> None:
    longest = 'device.driver == "' + "x" * 1146 + '"'
    config = config_with([longest] * 28)
    dry_run(plane, claims.build_manifest(device_request_for("own", "1", config), name="m-claim"))


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("device.driver = 'x'", "Syntax error"),
        ("size(device.driver)", "must evaluate to bool"),
        (
            "size(device.driver.matches('(a|b)+') ? 'a' : 'b') > 0 && type(device.driver) == string",
            "exceeds cost limit",
        ),
    ],
)
def test_a_custom_selector_that_does_not_compile_fails_the_dry_run(
    plane: ControlPlane, selector: str, message: str
) -> None:
    config = config_with([selector])
    with pytest.raises(ApiError, match=message):
        dry_run(plane, claims.build_manifest(device_request_for("own", "1", config), name="m-claim"))
