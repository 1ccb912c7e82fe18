"""The kubelet: runs the pods that the scheduler binds to its node."""

from __future__ import annotations

import threading
from collections.abc import Collection

from testbed.api import ApiError, UnreachableError
from testbed.controlplane import ControlPlane
from testbed.node.pod import LocalPod


class Kubelet:
    """Runs the pods of `namespaces` on the Node `node` from `start` to `stop`; others stay pending."""

    def __init__(self, plane: ControlPlane, node: str, namespaces: Collection[str]) -> None:
        self._api, self._plane, self._node = plane.api(), plane, node
        self._namespaces = namespaces
        self.pods: dict[str, LocalPod] = {}
        """By uid, terminated pods included."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sync_loop, daemon=True, name="kubelet")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Kills all pods."""
        self._stop.set()
        self._thread.join()
        for pod in self.pods.values():
            pod.kill()

    def locate(self, address: str) -> str | None:
        """The loopback address of the pod with that pod IP."""
        return next((pod.local for pod in self.pods.values() if pod.address == address), None)

    def running(self, component: str = "") -> list[LocalPod]:
        """The pods that have not terminated, of one component if given."""
        return [
            pod
            for pod in list(self.pods.values())
            if not pod.terminated.is_set()
            and component in ("", pod.pod["metadata"].get("labels", {}).get("app.kubernetes.io/component"))
        ]

    def _sync_loop(self) -> None:
        while not self._stop.wait(0.1):
            try:
                found = self._api.list("/api/v1/pods", fieldSelector=f"spec.nodeName={self._node}")
            except (ApiError, UnreachableError):
                continue
            present = {pod["metadata"]["uid"]: pod for pod in found if pod["metadata"]["namespace"] in self._namespaces}
            for uid, pod in present.items():
                if uid not in self.pods:
                    self.pods[uid] = LocalPod(self._plane, pod)
                    self.pods[uid].start()
                if "deletionTimestamp" in pod["metadata"]:
                    self.pods[uid].terminate(pod["metadata"]["deletionGracePeriodSeconds"])
            for uid, local in self.pods.items():
                if uid not in present and not local.terminated.is_set():
                    local.kill()
