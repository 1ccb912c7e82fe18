"""Registers admission webhooks by URL and waits until the API server calls them, or no longer does."""

from __future__ import annotations

import base64
import functools
import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import yaml

from testbed.api import JsonObject
from testbed.controlplane import ControlPlane
from testbed.paths import path
from testbed.pods import pod
from testbed.waiting import wait_for

ANNOTATION = "llmfit.ai/model-fit"
CPU_ONLY_FIT = '{"model": "probe", "min_ram_gb": 1, "min_vram_gb": 0}'
"""A fit that needs no GPU: both webhooks allow it, so it serves as a probe."""

MUTATING = "mutate.modelfit.llmfit.ai"
VALIDATING = "validate.modelfit.llmfit.ai"
VALIDATING_TEMPLATES = "workloads.modelfit.llmfit.ai"

FailurePolicy = Literal["Fail", "Ignore"]

_RENDERED_CHART = Path(__file__).parents[1] / "tests" / "golden" / "chart" / "defaults.yaml"
"""The rendered chart, kept current by a test of the chart, so that Helm is not needed here."""


@contextmanager
def registered(
    plane: ControlPlane,
    url: str,
    ca: bytes,
    *,
    failure_policy: FailurePolicy = "Fail",
    mutate: bool = True,
    validate: bool = True,
) -> Iterator[None]:
    """Registers `<url>/mutate` and `<url>/validate` with the rules of the chart, in effect inside the `with` only.

    The webhook's certificate is verified against `ca` (PEM).
    """
    bundle = base64.b64encode(ca).decode()
    enabled = {"MutatingWebhookConfiguration": mutate, "ValidatingWebhookConfiguration": validate}
    hooks = chart_webhooks(lambda route: {"caBundle": bundle, "url": url + route}, failure_policy)
    name = f"modelfit-{secrets.token_hex(3)}"
    for kind in enabled:
        if enabled[kind]:
            create_configuration(plane, kind, name, hooks[kind])
    try:
        wait_in_effect(plane, mutate=mutate, validate=validate)
        yield
    finally:
        for kind in enabled:
            plane.api().delete_if_exists(path(kind, None, name))
        wait_out_of_effect(plane)


def chart_webhooks(
    client: Callable[[str], JsonObject], failure_policy: FailurePolicy = "Fail"
) -> dict[str, list[JsonObject]]:
    """The webhooks of each configuration by its kind, with the chart's defaults.

    `client` returns the clientConfig for `/mutate` or `/validate`. `failure_policy` is that of the pod webhooks.
    """
    hooks: dict[str, list[JsonObject]] = json.loads(_rendered())
    for each in (each for webhooks in hooks.values() for each in webhooks):
        each["clientConfig"] = client(each["clientConfig"]["service"]["path"])
        if each["name"] != VALIDATING_TEMPLATES:
            each["failurePolicy"] = failure_policy
    return hooks


@functools.cache
def _rendered() -> str:
    """The webhooks by the kind of their configuration, as JSON."""
    rendered = yaml.safe_load_all(_RENDERED_CHART.read_text("utf-8"))
    return json.dumps({each["kind"]: each["webhooks"] for each in rendered if "webhooks" in each})


@contextmanager
def registered_for_pods(
    plane: ControlPlane, url: str, ca: bytes, *, mutating: bool = False, name: str = "pods.other.test"
) -> Iterator[None]:
    """Registers another party's webhook for every pod creation (Fail), in effect inside the `with`."""
    hook: JsonObject = {
        "name": name,
        "clientConfig": {"url": url, "caBundle": base64.b64encode(ca).decode()},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    }
    kind = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
    configuration = f"other-{secrets.token_hex(3)}"
    create_configuration(plane, kind, configuration, [hook])
    try:
        _wait_called(plane, name)
        yield
    finally:
        plane.api().delete(path(kind, None, configuration))
        wait_out_of_effect(plane, name)


def call_count(plane: ControlPlane, webhook: str) -> float:
    """The number of calls to the webhook so far, failed ones included."""
    answered = plane.metric("apiserver_admission_webhook_request_total", name=webhook)
    ignored = plane.metric("apiserver_admission_webhook_fail_open_count", name=webhook)
    return answered + ignored


def create_configuration(plane: ControlPlane, kind: str, name: str, webhooks: list[JsonObject]) -> None:
    """Creates a webhook configuration. It takes effect a moment later."""
    api_version = "admissionregistration.k8s.io/v1"
    plane.api().create({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "webhooks": webhooks})


def _probe(plane: ControlPlane) -> int:
    """Creates an annotated pod in a dry run. Returns the HTTP status."""
    probe = pod(generate_name="probe-", annotations={ANNOTATION: CPU_ONLY_FIT})
    return plane.api().send("POST", path("Pod", "default"), probe, query={"dryRun": "All"}).status


def _called(plane: ControlPlane, webhook: str) -> Callable[[], bool]:
    """A function that sends a probe and returns whether the webhook was called."""

    def probe_is_sent() -> bool:
        before = call_count(plane, webhook)
        _probe(plane)
        return call_count(plane, webhook) > before

    return probe_is_sent


def _wait_called(plane: ControlPlane, webhook: str) -> None:
    wait_for(f"the API server calls webhook {webhook}", _called(plane, webhook))


def wait_in_effect(plane: ControlPlane, *, mutate: bool = True, validate: bool = True) -> None:
    """Waits until the API server calls the product's webhooks."""
    if mutate:
        _wait_called(plane, MUTATING)
    # If the mutating webhook denies (its server is down) the validating one is never called; both take effect together.
    if validate and (not mutate or _probe(plane) < 400):
        _wait_called(plane, VALIDATING)


def wait_out_of_effect(plane: ControlPlane, *webhooks: str) -> None:
    """Waits until the API server no longer calls these webhooks, by default the product's."""
    for webhook in webhooks or (MUTATING, VALIDATING):
        wait_for(
            f"the API server no longer calls webhook {webhook}", _called(plane, webhook), lambda called: not called
        )
