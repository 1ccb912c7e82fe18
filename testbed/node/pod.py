"""One pod as a local process: mounts, starts, probes and terminates it."""

from __future__ import annotations

import datetime
import http.client
import itertools
import os
import sys
import threading
import time
from pathlib import Path

from testbed import workspace
from testbed.api import STRATEGIC_PATCH, ApiError, JsonObject, UnreachableError
from testbed.certificates import unverified_tls_context
from testbed.controlplane import ControlPlane
from testbed.identities import SERVICE_ACCOUNT
from testbed.node.volumes import SourceMissingError, Volume
from testbed.paths import path
from testbed.processes import Process, ProcessExitedError
from testbed.programs import modelfit

SYNC_SECONDS = 1.0
"""Between refreshes of a pod's volumes; a kubelet takes up to a minute."""
PROBE_SECONDS = 0.1

_numbers = itertools.count(1)


class LocalPod:
    """Runs in its own thread until the pod is deleted. It listens on `local` and reports the pod IP `address`."""

    def __init__(self, plane: ControlPlane, pod: JsonObject) -> None:
        self._plane, self._api, self.pod = plane, plane.api(), pod
        self.name, self.namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        number = next(_numbers)
        self.address = f"10.244.{number // 250}.{number % 250 + 1}"
        self.local = f"127.{os.getpid() % 200 + 20}.{number // 250}.{number % 250 + 1}"
        self._folder = workspace.current().folder(f"pod-{self.name}")
        self._terminating = threading.Event()
        self._grace = 30
        self.process: Process | None = None
        self.restarts = 0
        self.terminated = threading.Event()
        (self._container,) = pod["spec"]["containers"]
        annotations = pod["metadata"].get("annotations", {})
        self._volumes = {
            volume["name"]: Volume(self._api, self.namespace, volume, self._folder / volume["name"], annotations)
            for volume in pod["spec"].get("volumes", [])
            if "projected" not in volume
        }
        self._thread = threading.Thread(target=self._run_pod, daemon=True, name=f"pod {self.name}")

    def start(self) -> None:
        self._thread.start()

    def terminate(self, grace: int) -> None:
        """Starts the graceful termination of a deleted pod."""
        self._grace = grace
        self._terminating.set()

    def kill(self) -> None:
        """Kills the pod, as when its machine is switched off."""
        self._terminating.set()
        if self.process is not None:
            self.process.kill()

    def output(self) -> str:
        return self.process.output() if self.process else ""

    def _run_pod(self) -> None:
        try:
            if self._mount():
                self.process = self._container_process()
                self.process.start()
                self._report("Running", ready=False)
                self._run(self.process)
            self._stop()
        except (ApiError, UnreachableError, ProcessExitedError):
            # The API server is down, or the pod was force-deleted or killed: its process ends, too.
            self.kill()
        self.terminated.set()

    def _mount(self) -> bool:
        while not self._terminating.wait(0.1):
            try:
                for volume in self._volumes.values():
                    volume.refresh()
            except SourceMissingError:
                continue
            return True
        return False

    def _run(self, process: Process) -> None:
        """Returns when the pod is to terminate, or has completed."""
        ready, synced = False, time.monotonic()
        while not self._terminating.wait(PROBE_SECONDS):
            if not process.running:
                code = process.wait()
                if self.pod["spec"].get("restartPolicy", "Always") == "Never":
                    self._report("Failed" if code else "Succeeded", ready=False)
                    self._terminating.wait()
                    return
                self.restarts += 1
                self._report("Running", ready=False)
                ready = False
                if self._terminating.wait(1):
                    return
                process.start()
            elif ready is not self._probe():
                ready = not ready
                self._report("Running", ready=ready)
            if time.monotonic() - synced > SYNC_SECONDS:
                synced = time.monotonic()
                for volume in self._volumes.values():
                    try:
                        volume.refresh()
                    except SourceMissingError:
                        # The mounted content stays.
                        continue

    def _stop(self) -> None:
        began = time.monotonic()
        if self.process is not None and self.process.running:
            hook = self._container.get("lifecycle", {}).get("preStop", {})
            if hook:
                time.sleep(min(hook["sleep"]["seconds"], self._grace))
            self.process.stop(grace=max(0.1, self._grace - (time.monotonic() - began)))
        self._api.delete_if_exists(path("Pod", self.namespace, self.name), force=True)

    def _container_process(self) -> Process:
        mounts = {
            mount["mountPath"]: self._volumes[mount["name"]].folder
            for mount in self._container.get("volumeMounts", [])
            if mount["name"] in self._volumes
        }
        arguments = [self._localized(argument, mounts) for argument in self._container.get("args", [])]
        environment = {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1"}
        environment |= {each["name"]: each["value"] for each in self._container.get("env", [])}
        command = self._container.get("command")
        token = self.pod["spec"].get("automountServiceAccountToken", True)
        account = f"{SERVICE_ACCOUNT}{self.namespace}:{self.pod['spec'].get('serviceAccountName', 'default')}"
        if command:
            assert command[0] == "python", f"unsupported command {command[0]}"
            environment |= self._account(account)
            log = workspace.current().log(self.name)
            return Process(self.name, [sys.executable, *command[1:], *arguments], log, environment=environment)
        if token:
            arguments += ["--kubeconfig", str(self._plane.kubeconfig(account))]
        return modelfit(self.name, *arguments, environment=environment)

    def _localized(self, argument: str, mounts: dict[str, Path]) -> str:
        for mount, folder in mounts.items():
            if argument.startswith(f"{mount}/"):
                return str(folder / argument.removeprefix(f"{mount}/"))
        return self.local if argument in ("0.0.0.0", "::") else argument

    def _account(self, account: str) -> dict[str, str]:
        """The files and variables through which a pod uses its service account."""
        folder = self._folder / "serviceaccount"
        folder.mkdir()
        (folder / "token").write_text(self._plane.token(account))
        (folder / "ca.crt").write_bytes(self._plane.ca.read_bytes())
        host, _, port = self._plane.server.removeprefix("https://").partition(":")
        return {"SERVICE_ACCOUNT": str(folder), "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}

    def metrics(self) -> str:
        """The /metrics page."""
        return self._get({**self._container["readinessProbe"]["httpGet"], "path": "/metrics"})[1]

    def _probe(self) -> bool:
        probe = self._container.get("readinessProbe")
        if probe is None:
            return True
        try:
            return self._get(probe["httpGet"])[0] < 400
        except (OSError, http.client.HTTPException):
            return False

    def _get(self, http_get: JsonObject) -> tuple[int, str]:
        """Status and text of the response to an `httpGet`."""
        port = next(each["containerPort"] for each in self._container["ports"] if each["name"] == http_get["port"])
        connection = http.client.HTTPConnection(self.local, port, timeout=2)
        if http_get.get("scheme") == "HTTPS":
            # Like a kubelet, without verification.
            connection = http.client.HTTPSConnection(self.local, port, timeout=2, context=unverified_tls_context())
        try:
            connection.request("GET", http_get["path"])
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def _report(self, phase: str, *, ready: bool) -> None:
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {"status": str(ready), "lastTransitionTime": now}
        status = {
            "phase": phase,
            "podIP": self.address,
            "podIPs": [{"ip": self.address}],
            "startTime": now,
            "conditions": [{"type": kind, **condition} for kind in ("Ready", "ContainersReady")],
        }
        self._api.patch(path("Pod", self.namespace, self.name, "status"), {"status": status}, STRATEGIC_PATCH)
