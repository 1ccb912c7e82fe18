"""Nodes without a kubelet. They stay Ready because the test control plane runs no node lifecycle controller."""

from __future__ import annotations

from testbed.api import Api
from testbed.paths import path


def create_node(api: Api, name: str, *, cpu: str = "64", memory: str = "512Gi", pods: int = 1000) -> None:
    """Creates a Ready Node with this allocatable capacity."""
    api.create(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        }
    )
    capacity = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "set by a test"}
    status = {"capacity": capacity, "allocatable": capacity, "conditions": [ready]}
    api.patch(path("Node", None, name, "status"), {"status": status})
    # Admission taints every new Node as not ready; a kubelet removes the taint.
    api.patch(path("Node", None, name), {"spec": {"taints": None}})


def is_ready(api: Api, name: str) -> bool:
    """Whether the scheduler may use the Node: Ready and without taints."""
    node = api.get(path("Node", None, name))
    conditions = {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}
    return conditions.get("Ready") == "True" and not node["spec"].get("taints")
