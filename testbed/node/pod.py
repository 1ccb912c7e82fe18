"""One pod as a local process: mounted, started, probed, ended."""

from __future__ import annotations

import datetime
import http.client
import itertools
import os
import ssl
import sys
import threading
import time
from pathlib import Path

from testbed import workspace
from testbed.api import STRATEGIC_PATCH, ApiError, JsonObject, UnreachableError
from testbed.controlplane import ControlPlane
from testbed.identities import SERVICE_ACCOUNT
from testbed.node.volumes import SourceMissingError, Volume
from testbed.paths import path
from testbed.processes import Process, ProcessExitedError
from testbed.programs import modelfit

SYNC_SECONDS = 1.0
"""Between looks at a pod's volumes; a kubelet's are a minute apart."""
PROBE_SECONDS = 0.1

_numbers = itertools.count(1)


class LocalPod:
    """Runs in threads of its own until the pod is deleted. `local` is where it listens, `address` what it says."""

    def __init__(self, plane: ControlPlane, pod: JsonObject) -> None:
        self._plane, self._api, self.pod = plane, plane.api(), pod
        self.name, self.namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        number = next(_numbers)
        self.address = f"10.244.{number // 250}.{number % 250 + 1}"
        self.local = f"127.{os.getpid() % 200 + 20}.{number // 250}.{number % 250 + 1}"
        self._folder = workspace.current().folder(f"pod-{self.name}")
        self._ending = threading.Event()
        self._grace = 30
        self.process: Process | None = None
        self.restarts = 0
        self.gone = threading.Event()
        (self._container,) = pod["spec"]["containers"]
        annotations = pod["metadata"].get("annotations", {})
        self._volumes = {
            volume["name"]: Volume(self._api, self.namespace, volume, self._folder / volume["name"], annotations)
            for volume in pod["spec"].get("volumes", [])
            if "projected" not in volume
        }
        self._thread = threading.Thread(target=self._live, daemon=True, name=f"pod {self.name}")

    def start(self) -> None:
        self._thread.start()

    def end(self, grace: int) -> None:
        """The pod is being deleted."""
        self._grace = grace
        self._ending.set()

    def kill(self) -> None:
        """The machine is switched off."""
        self._ending.set()
        if self.process is not None:
            self.process.kill()

    def output(self) -> str:
        return self.process.output() if self.process else ""

    def _live(self) -> None:
        try:
            if self._mounted():
                self.process = self._make()
                self.process.start()
                self._say("Running", ready=False)
                self._run(self.process)
            self._stop()
        except (ApiError, UnreachableError, ProcessExitedError):
            # The API server has gone, or somebody took the pod away by force, or `kill`: so its process goes too.
            self.kill()
        self.gone.set()

    def _mounted(self) -> bool:
        while not self._ending.wait(0.1):
            try:
                for volume in self._volumes.values():
                    volume.refresh()
            except SourceMissingError:
                continue
            return True
        return False

    def _run(self, process: Process) -> None:
        """Until the pod is to end, or has ended by itself for good."""
        ready, synced = False, time.monotonic()
        while not self._ending.wait(PROBE_SECONDS):
            if not process.running:
                code = process.wait()
                if self.pod["spec"].get("restartPolicy", "Always") == "Never":
                    self._say("Failed" if code else "Succeeded", ready=False)
                    self._ending.wait()
                    return
                self.restarts += 1
                self._say("Running", ready=False)
                ready = False
                if self._ending.wait(1):
                    return
                process.start()
            elif ready is not self._probe():
                ready = not ready
                self._say("Running", ready=ready)
            if time.monotonic() - synced > SYNC_SECONDS:
                synced = time.monotonic()
                for volume in self._volumes.values():
                    try:
                        volume.refresh()
                    except SourceMissingError:
                        # What was mounted stays.
                        continue

    def _stop(self) -> None:
        began = time.monotonic()
        if self.process is not None and self.process.running:
            hook = self._container.get("lifecycle", {}).get("preStop", {})
            if hook:
                time.sleep(min(hook["sleep"]["seconds"], self._grace))
            self.process.stop(grace=max(0.1, self._grace - (time.monotonic() - began)))
        self._api.delete_if_exists(path("Pod", self.namespace, self.name), force=True)

    def _make(self) -> Process:
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
            assert command[0] == "python", f"this node's images have no {command[0]}"
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
        """What a pod finds of its account, in a folder of its own."""
        folder = self._folder / "serviceaccount"
        folder.mkdir()
        (folder / "token").write_text(self._plane.token(account))
        (folder / "ca.crt").write_bytes(self._plane.ca.read_bytes())
        host, _, port = self._plane.server.removeprefix("https://").partition(":")
        return {"SERVICE_ACCOUNT": str(folder), "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}

    def metrics(self) -> str:
        """The page that Prometheus would scrape."""
        return self._get({**self._container["readinessProbe"]["httpGet"], "path": "/metrics"})[1]

    def _probe(self) -> bool:
        probe = self._container.get("readinessProbe")
        if probe is None:
            return True
        try:
            return self._get(probe["httpGet"])[0] < 400
        except (OSError, http.client.HTTPException):
            return False

    def _get(self, asked: JsonObject) -> tuple[int, str]:
        """The answer to an `httpGet`: its status and its text."""
        port = next(each["containerPort"] for each in self._container["ports"] if each["name"] == asked["port"])
        connection = http.client.HTTPConnection(self.local, port, timeout=2)
        if asked.get("scheme") == "HTTPS":
            # As a kubelet: the certificate is not checked.
            connection = http.client.HTTPSConnection(self.local, port, timeout=2, context=_unchecked())
        try:
            connection.request("GET", asked["path"])
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def _say(self, phase: str, *, ready: bool) -> None:
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


def _unchecked() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
