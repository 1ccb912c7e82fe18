"""The reviews to start from. Together they reach every part of the decision."""

import json
from pathlib import Path

from tests.core.builders import (
    CPU_FIT,
    FIT,
    REMOVED,
    WORKLOADS,
    Json,
    admitted,
    body,
    container,
    fit,
    kind_of,
    pod,
    workload,
)

SECRET = "hunter2"
"""A value that no response may repeat; `damage` adds none."""

_GOLDEN = Path(__file__).parents[1] / "golden" / "llmfit"
_DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}

FITS = [
    FIT,
    CPU_FIT,
    fit(model={"name": "nested", "min_vram_gb": 8, "min_ram_gb": None}, min_vram_gb=None),
    fit(models=[{"name": "one", "vram_gb": 8}]),
    fit(models=[{"name": "one"}, {"name": "two"}]),
    fit(memory_required_gb=22, total_memory_gb=390, run_mode="GPU", is_moe=True, supports_tp=[1, 2, 4, 8]),
    fit(memory_required_gb=22, moe_offloaded_gb=40, run_mode="MoE", disk_size_gb=60),
    fit(memory_required_gb=38, run_mode="CPU+GPU", estimated_vram_gb=20),
    fit(minimum={"vram_gb": 5.35, "ram_gb": 8}),
    fit(memoryGi=5, minBandwidthGBs=161),
    *(path.read_text("utf-8") for path in sorted(_GOLDEN.glob("*.json"))),
]


def reviews() -> list[Json]:
    """The reviews, each a fresh object."""
    plain = [pod(text) for text in FITS]
    full = pod(
        annotations={
            "llmfit.ai/containers": "server, load",
            "llmfit.ai/profile": "example",
            "llmfit.ai/device-count": "auto",
            "kubectl.kubernetes.io/default-container": "server",
            "vault/~token": SECRET,
        },
        metadata={"name": REMOVED, "generateName": "web-7c9f-", "labels": {"app": "llama", "key": SECRET}},
        containers=[
            container("istio-proxy", env=[{"name": "TOKEN", "value": SECRET}]),
            container(
                "server",
                args=["--key", SECRET],
                resources={
                    "claims": [{"name": "nic", "request": "port"}],
                    "requests": {"memory": "1Gi", "cpu": "500m"},
                    "limits": {"nvidia.com/gpu": "0"},
                },
            ),
        ],
        initContainers=[container("load", restartPolicy="Always", resources=None)],
        resourceClaims=[{"name": "nic", "resourceClaimName": SECRET}],
        resources={"limits": {"memory": "64Gi"}},
        schedulerName="volcano",
        tolerations=[],
        futureField={"deep": [SECRET, 1.5, None]},
    )
    full["metadata"]["annotations"]["llmfit.ai/model-fit"] = FITS[5]
    denied = pod(
        annotations={"llmfit.ai/profile": "unknown", "llmfit.ai/device-count": "64", "llmfit.ai/containers": "x"},
        containers=[container(resources={"limits": {"nvidia.com/gpu": "2"}})],
        nodeName="node-1",
        resourceClaims=[{"name": "modelfit", "resourceClaimName": "mine"}],
    )
    return [
        *map(body, plain),
        *(
            body(each)
            for each in (full, denied, pod(None), admitted(pod(), uid="first"), _copy(), pod(metadata=_DELETED))
        ),
        body(_copy(CPU_FIT)),
        *map(body, _rule_cases()),
        body(pod(), namespace=""),
        body(full, dryRun=True),
        body(full, operation="UPDATE", old=full),
        body(full, operation="UPDATE", old=pod()),
        body(pod(metadata={"labels": {"llmfit.ai/injected": "true"}}), operation="UPDATE", old=pod()),
        body(None, operation="DELETE", old=full),
        body(full, subResource="ephemeralcontainers"),
        body(full, kind={"group": "apps", "version": "v1", "kind": "Job"}),
        *_workloads(full, denied),
    ]


def _workloads(full: Json, denied: Json) -> list[Json]:
    """Every kind, created and updated, and workloads that are exempt."""
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llama", "uid": "u", "controller": True}
    targets = [workload(kind, each) for kind in WORKLOADS for each in (full, denied)]
    created = [
        *targets,
        workload("Deployment", pod(metadata={"labels": {"llmfit.ai/inject": "disabled"}})),
        workload("Deployment", _copy()),
        workload("ReplicaSet", denied, ownerReferences=[owner]),
        workload("Job", denied, **_DELETED),
    ]
    return [
        *(body(each, kind=kind_of(each)) for each in created),
        *(body(each, kind=kind_of(each), operation="UPDATE", old=each) for each in targets),
    ]


def _copy(text: str = FIT) -> Json:
    """A copy of an admitted pod, with claims of its own."""
    made = admitted(pod(resourceClaims=[{"name": "nic", "resourceClaimName": SECRET}]), uid="first")
    made["spec"]["resourceClaims"].append({"name": "disk", "resourceClaimTemplateName": SECRET})
    made["metadata"]["name"] = "other"
    made["metadata"]["annotations"]["llmfit.ai/model-fit"] = text
    return made


def _rule_cases() -> list[Json]:
    """A pod for each exemption and rule."""
    return [
        pod(metadata={"labels": {"llmfit.ai/inject": "disabled"}}),
        pod(annotations={"kubernetes.io/config.mirror": "hash"}),
        pod(annotations={"llmfit.ai/device-count": "0"}),
        pod(nodeName="node-1"),
        pod(resourceClaims=[{"name": "modelfit", "resourceClaimTemplateName": "mine"}]),
        pod(containers=[container(resources={"limits": {"nvidia.com/gpu": "2"}})]),
        pod(containers=[container(resources={"requests": {"memory": "1Gi"}, "limits": {"memory": "64Gi"}})]),
        pod(containers=[container("web"), container("server", image="vllm/vllm-openai"), container("istio-proxy")]),
        pod(containers=[container("web"), container("server")]),
        pod(containers=[{"name": "c"}] * 1001),
        pod(None, resourceClaims=[{"name": "modelfit", "resourceClaimName": "llama-7b-claim-0123456789"}]),
    ]


def texts() -> list[str]:
    """Keys and values that have a meaning somewhere, and some that are invalid everywhere."""
    keys = {key for review in reviews() for key in _keys(review)}
    keys |= {key for text in FITS for key in _keys(json.loads(text))}
    return [
        *sorted(keys), "", "0", "-1", "1e999", "NaN", "auto", "disabled", "true", "1e999999Gi", "8Gi",
        "x" * 70, "é🦙", "\u2028", "\x1b[31m",
        "\n", "\0", "a/b~c", "~1", '"', "\\", "nvidia.com/gpu",
        "kubernetes.io/config.mirror", "llama-7b-claim-0123456789",
    ]  # fmt: skip


def _keys(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_keys, value.values()))
    return set().union(*map(_keys, value)) if isinstance(value, list) else set()
