"""The command lines of the four servers, without flags that only repeat a default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LOOPBACK = "127.0.0.1"

_CONTROLLERS = "*,-node-lifecycle-controller,-taint-eviction-controller"
"""Without the exclusions a Node without a kubelet becomes NotReady within a minute and its pods are evicted."""


@dataclass(frozen=True)
class Options:
    """How a control plane differs from Kubernetes' defaults.

    feature_gates    given to every server but etcd, e.g. {"DRAConsumableCapacity": False}
    runtime_config   API versions on and off, e.g. {"resource.k8s.io/v1": False, "resource.k8s.io/v1beta1": True}
    users            further users with static tokens: name to groups
    *_flags          appended to the server's own; the last of a repeated flag wins
    """

    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    runtime_config: Mapping[str, bool] = field(default_factory=dict)
    users: Mapping[str, Sequence[str]] = field(default_factory=dict)
    apiserver_flags: Sequence[str] = ()
    controller_manager_flags: Sequence[str] = ()
    scheduler_flags: Sequence[str] = ()

    def gates(self) -> list[str]:
        return [f"--feature-gates={_switches(self.feature_gates)}"] if self.feature_gates else []


@dataclass(frozen=True)
class Files:
    """The files that ControlPlane writes for the servers."""

    certificate: Path
    key: Path
    ca: Path
    account_key: Path
    account_public: Path
    tokens: Path


def etcd(data: Path, port: int, peer_port: int) -> list[str]:
    url, peer = f"http://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{peer_port}"
    return [
        f"--data-dir={data}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        # The data need not survive a crash of the machine.
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver(port: int, etcd_port: int, files: Files, options: Options) -> list[str]:
    server = f"https://{LOOPBACK}:{port}"
    versions = [f"--runtime-config={_switches(options.runtime_config)}"] if options.runtime_config else []
    return [
        f"--etcd-servers=http://{LOOPBACK}:{etcd_port}",
        f"--secure-port={port}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--tls-cert-file={files.certificate}",
        f"--tls-private-key-file={files.key}",
        f"--service-account-issuer={server}",
        f"--service-account-key-file={files.account_public}",
        f"--service-account-signing-key-file={files.account_key}",
        f"--token-auth-file={files.tokens}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.0.0.0/24",
        # As kubeadm does, so that only PodSecurity denies privileged pods.
        "--allow-privileged=true",
        # No Service points at this server, so stopping it need not wait for endpoints to be removed.
        "--endpoint-reconciler-type=none",
        # By default a server that is asked to stop waits a minute for its watches to close.
        "--shutdown-watch-termination-grace-period=1s",
        *versions,
        *options.gates(),
        *options.apiserver_flags,
    ]


def controller_manager(port: int, kubeconfig: Path, files: Files, options: Options) -> list[str]:
    return [
        *_client(port, kubeconfig),
        f"--service-account-private-key-file={files.account_key}",
        f"--root-ca-file={files.ca}",
        f"--controllers={_CONTROLLERS}",
        *options.gates(),
        *options.controller_manager_flags,
    ]


def scheduler(port: int, kubeconfig: Path, options: Options) -> list[str]:
    return [*_client(port, kubeconfig), *options.gates(), *options.scheduler_flags]


def _client(port: int, kubeconfig: Path) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}",
        f"--secure-port={port}",
        f"--bind-address={LOOPBACK}",
        "--leader-elect=false",
    ]


def _switches(values: Mapping[str, bool]) -> str:
    return ",".join(f"{name}={str(on).lower()}" for name, on in values.items())
