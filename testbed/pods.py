"""Manifests of pods and workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from testbed.api import JsonObject

IMAGE = "registry.invalid/app:1"
"""Never pulled: no node runs containers."""


def pod(
    name: str | None = None,
    *,
    generate_name: str | None = None,
    containers: Sequence[str] = ("app",),
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    claims: Mapping[str, str] | None = None,
    templates: Mapping[str, str] | None = None,
    **spec: object,
) -> JsonObject:
    """A Pod. `claims` maps names of `spec.resourceClaims` to ResourceClaims, `templates` to ResourceClaimTemplates; the
    first container uses all of them. `spec` adds fields to the pod's spec or replaces them."""
    metadata: JsonObject = {"name": name} if name else {}
    if generate_name:
        metadata["generateName"] = generate_name
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        **_template(metadata, containers, annotations, labels, claims or {}, templates or {}, spec),
    }


def deployment(name: str, replicas: int, annotations: Mapping[str, str] | None = None, **spec: object) -> JsonObject:
    """A Deployment; `spec` goes into its pods' spec. Its pods never become ready, so a rollout keeps surge pods."""
    return _replicated("Deployment", name, replicas, annotations, spec)


def stateful_set(name: str, replicas: int, annotations: Mapping[str, str] | None = None, **spec: object) -> JsonObject:
    """A StatefulSet that creates all its pods in parallel, since none ever becomes ready."""
    made = _replicated("StatefulSet", name, replicas, annotations, spec)
    made["spec"] |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    return made


def job(name: str, annotations: Mapping[str, str] | None = None, **spec: object) -> JsonObject:
    """A Job with one pod and no retries."""
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": _job(name, annotations, spec)}


def cron_job(name: str, annotations: Mapping[str, str] | None = None, **spec: object) -> JsonObject:
    """A CronJob that runs every minute."""
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": _job(name, annotations, spec)}},
    }


def _job(name: str, annotations: Mapping[str, str] | None, spec: Mapping[str, object]) -> JsonObject:
    template = _template({}, ("app",), annotations, {"app": name}, {}, {}, {"restartPolicy": "Never", **spec})
    return {"backoffLimit": 0, "template": template}


def _replicated(
    kind: str, name: str, replicas: int, annotations: Mapping[str, str] | None, spec: Mapping[str, object]
) -> JsonObject:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": _template({}, ("app",), annotations, labels, {}, {}, spec),
        },
    }


def _template(
    metadata: JsonObject,
    containers: Sequence[str],
    annotations: Mapping[str, str] | None,
    labels: Mapping[str, str] | None,
    claims: Mapping[str, str],
    templates: Mapping[str, str],
    spec: Mapping[str, object],
) -> JsonObject:
    if annotations:
        metadata = {**metadata, "annotations": dict(annotations)}
    if labels:
        metadata = {**metadata, "labels": dict(labels)}
    body: JsonObject = {"containers": [{"name": container, "image": IMAGE} for container in containers]}
    named = [{"name": alias, "resourceClaimName": name} for alias, name in claims.items()]
    named += [{"name": alias, "resourceClaimTemplateName": name} for alias, name in templates.items()]
    if named:
        body["resourceClaims"] = named
        body["containers"][0]["resources"] = {"claims": [{"name": item["name"]} for item in named]}
    return {"metadata": metadata, "spec": {**body, **spec}}
