"""Nodes without a kubelet that stay Ready: the node lifecycle controller of the test control plane is off."""

from __future__ import annotations

from testbed.api import Api
from testbed.paths import path


def create_node(api: Api, name: str, *, cpu: str = "64", memory: str = "512Gi", pods: int = 1000) -> None:
    """A Node on which the scheduler places pods that fit into `cpu`, `memory` and the number of `pods`."""
    api.create(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        }
    )
    room = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "placed here by a test"}
    status = {"capacity": room, "allocatable": room, "conditions": [ready]}
    api.patch(path("Node", None, name, "status"), {"status": status})
    # Admission taints every new Node as not ready, for the kubelet to remove.
    api.patch(path("Node", None, name), {"spec": {"taints": None}})


def is_ready(api: Api, name: str) -> bool:
    """Whether the scheduler may use it: Ready and without a taint."""
    node = api.get(path("Node", None, name))
    conditions = {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}
    return conditions.get("Ready") == "True" and not node["spec"].get("taints")
