"""A Kubernetes control plane on loopback: etcd, kube-apiserver, kube-controller-manager, kube-scheduler. No kubelet."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from testbed import assets, certificates, identities, metrics, servers, workspace
from testbed.api import Api, JsonObject
from testbed.identities import ADMIN
from testbed.kubectl import Result, kubectl
from testbed.paths import path
from testbed.ports import free_port
from testbed.processes import Process
from testbed.servers import LOOPBACK, Options
from testbed.waiting import wait_for


class ControlPlane:
    """Four processes, their data and their identities. A context manager: ready on entry, removed on exit.

    `server` is the API server's URL and `ca` the file with its CA. `etcd`, `apiserver`, `controller_manager` and
    `scheduler` are Processes that can be stopped and restarted. Raises NoAssetsError if the binaries are missing.
    """

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self._binaries = assets.find()
        self._folder = workspace.current().folder("controlplane")
        self.logs = workspace.current().logs / self._folder.name
        self.logs.mkdir()
        pair = certificates.mint(self._folder)
        self.ca = pair.ca
        self._files = servers.Files(
            certificate=pair.certificate,
            key=pair.key,
            ca=pair.ca,
            account_key=self._folder / "account.key",
            account_public=self._folder / "account.pub",
            tokens=self._folder / "tokens.csv",
        )
        _write_account_keys(self._files.account_key, self._files.account_public)
        self._tokens = identities.write_tokens(self._files.tokens, self.options.users)
        self._apis: dict[str, Api] = {}
        self._port, self._etcd_port = free_port(), free_port()
        self.server = f"https://{LOOPBACK}:{self._port}"
        self.etcd = self._process("etcd", servers.etcd(self._folder / "etcd", self._etcd_port, free_port()))
        self.apiserver = self._process("kube-apiserver", [])
        self._manager_port, self._scheduler_port = free_port(), free_port()
        admin = self.kubeconfig()
        self.controller_manager = self._process(
            "kube-controller-manager",
            servers.controller_manager(self._manager_port, admin, self._files, self.options),
        )
        self.scheduler = self._process("kube-scheduler", servers.scheduler(self._scheduler_port, admin, self.options))

    def _process(self, name: str, flags: list[str]) -> Process:
        return Process(name, [self._binaries / name, *flags], self.logs / f"{name}.log")

    def __enter__(self) -> ControlPlane:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        self.etcd.start()
        self.start_apiserver()
        self.controller_manager.start()
        self.scheduler.start()
        self.scheduler.wait_url(f"https://{LOOPBACK}:{self._scheduler_port}/healthz")
        # kube-controller-manager creates it, so its controllers run. Without it `default` admits no pod.
        account = path("ServiceAccount", "default", "default")
        wait_for("the service account of `default` exists", lambda: self.api().find(account))

    def close(self) -> None:
        """Kills the processes and removes the data. The logs stay until the test process ends."""
        for process in self.processes():
            process.kill()
        for api in self._apis.values():
            api.close()
        workspace.remove_folder(self._folder)

    def processes(self) -> tuple[Process, ...]:
        return (self.scheduler, self.controller_manager, self.apiserver, self.etcd)

    def start_apiserver(self, *, runtime_config: Mapping[str, bool] | None = None) -> None:
        """Starts the API server on its port and data, and waits until it is ready. `runtime_config` changes the served
        API versions from now on."""
        if runtime_config is not None:
            self.options = dataclasses.replace(self.options, runtime_config=runtime_config)
        flags = servers.apiserver(self._port, self._etcd_port, self._files, self.options)
        self.apiserver.arguments[1:] = flags
        self.apiserver.start()
        self.apiserver.wait_url(f"{self.server}/readyz", ca=self.ca, timeout=60)

    def stop_apiserver(self, *, kill: bool = False) -> None:
        """Stops it as an upgrade does, or with `kill` as a crash does. The data stay; the other processes keep running.

        They reconnect when their back-off (up to 30 seconds) ends. Until then the scheduler places pods from a stale
        cache, so do not use this on the shared control plane.
        """
        if kill:
            self.apiserver.kill()
        else:
            self.apiserver.stop()

    def token(self, user: str = ADMIN) -> str:
        """The user's bearer token; for a service account a new one at each call. See `identities`."""
        if user.startswith(identities.SERVICE_ACCOUNT):
            return identities.service_account_token(self.api(), user)
        if user not in self._tokens:
            raise ValueError(f"no user {user!r}: name it in Options.users (defined are {', '.join(self._tokens)})")
        return self._tokens[user]

    def api(self, user: str = ADMIN) -> Api:
        """The API client of that user, the same at each call."""
        if user not in self._apis:
            self._apis[user] = Api(self.server, self.ca, self.token(user))
        return self._apis[user]

    def kubeconfig(self, user: str = ADMIN, *, server: str | None = None) -> Path:
        """A kubeconfig of that user. `server` replaces the API server's URL (a TCPProxy's `url`)."""
        key = hashlib.sha256(f"{user} {server}".encode()).hexdigest()[:10]
        file = self._folder / f"kubeconfig-{key}.yaml"
        if file.exists():
            return file
        return identities.write_kubeconfig(
            file, server=server or self.server, ca=self.ca, user=user, token=self.token(user)
        )

    def kubectl(
        self, *arguments: str, input: JsonObject | str | None = None, user: str = ADMIN, timeout: float = 60
    ) -> Result:
        """Runs kubectl as that user; `input` (an object or YAML) goes with `-f -`."""
        kubeconfig = self.kubeconfig(user)
        return kubectl(self._binaries / "kubectl", kubeconfig, *arguments, input=input, timeout=timeout)

    def metrics(self) -> str:
        """The API server's /metrics page."""
        return str(self.api().get("/metrics")["text"])

    def metric(self, name: str, /, **labels: str) -> float:
        """The sum of the API server's samples of that name with those labels; 0 if there are none."""
        return metrics.sum_samples(self.metrics(), name, **labels)

    def memory(self) -> dict[str, int]:
        """Resident bytes of each process."""
        return {process.name: process.memory() for process in self.processes() if process.running}


def _write_account_keys(private: Path, public: Path) -> None:
    """The key pair that signs and verifies service account tokens."""
    key = ec.generate_private_key(ec.SECP256R1())
    private.write_bytes(certificates.private_pem(key))
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
