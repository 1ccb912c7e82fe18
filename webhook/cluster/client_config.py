"""Where the API server is and who we are: in-cluster configuration, or a kubeconfig.

The client's loaders do the reading. Closed here: a token that was rotated is read again at once when the API server
refuses the old one (the in-cluster loader re-reads once a minute, the kubeconfig loader never), and a proxy from the
environment does not capture calls inside the cluster.
"""
# mypy: disable-error-code="no-untyped-call"
# The client announces types and leaves many out.

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from kubernetes import config
from kubernetes.client import Configuration
from kubernetes.config import incluster_config

from webhook.errors import quote

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet puts a pod's token, the cluster's CA and the pod's namespace."""


class NotConfigured(Exception):
    """There is no usable configuration; the message says what was looked at and what to do."""


class ClientConfig:
    """A client configuration that can be renewed, and the `namespace` that it stands in."""

    def __init__(self, configuration: Configuration, load: Callable[[Configuration], None], namespace: str) -> None:
        self.configuration = configuration
        self.namespace = namespace
        self._load = load
        self._lock = threading.Lock()

    def authorization(self) -> str | None:
        """The Authorization header, from a token that is read again once a minute; None with a client certificate."""
        header: str | None = self.configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        return header

    def renew(self, refused: str | None) -> bool:
        """Reads the credentials again, unless another thread has done so since `refused` was sent. Whether they differ
        from the refused ones, so that the call is worth repeating."""
        with self._lock:
            if self.authorization() == refused:
                fresh = Configuration()
                self._load(fresh)
                self.configuration.api_key = fresh.api_key
                self.configuration.refresh_api_key_hook = fresh.refresh_api_key_hook
            return self.authorization() != refused


def find(kubeconfig: Path | None, environ: Mapping[str, str] = os.environ) -> ClientConfig:
    """The given kubeconfig; else the pod's service account, inside a cluster; else what kubectl would use. Raises
    NotConfigured."""
    if kubeconfig is None and environ.get(incluster_config.SERVICE_HOST_ENV_NAME):
        return in_cluster(environ)
    default = environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    return from_kubeconfig(str(kubeconfig) if kubeconfig else default)


def in_cluster(environ: Mapping[str, str] = os.environ, folder: Path = SERVICE_ACCOUNT) -> ClientConfig:
    """A pod's own way to its API server, never through a proxy. Raises NotConfigured."""
    token, authority, namespace = folder / "token", folder / "ca.crt", folder / "namespace"

    def load(configuration: Configuration) -> None:
        incluster_config.InClusterConfigLoader(str(token), str(authority), environ=environ).load_and_set(configuration)

    configuration = _loaded(load, f"the service account in {folder}", "mount it (automountServiceAccountToken: true)")
    # Assigned after the host, whose assignment looks the proxy up in the environment. Inside a cluster the way to the
    # API server is direct; NO_PROXY seldom names its address.
    configuration.proxy = None
    return ClientConfig(configuration, load, namespace.read_text().strip() if namespace.exists() else "default")


def from_kubeconfig(files: str) -> ClientConfig:
    """The current context of a kubeconfig, or of several joined by `:`. HTTPS_PROXY and NO_PROXY apply. Raises
    NotConfigured."""

    def load(configuration: Configuration) -> None:
        # What a credentials plugin hands out is not ours to store.
        config.load_kube_config(files, client_configuration=configuration, persist_config=False)

    remedy = "name another with --kubeconfig, or run inside a cluster"
    configuration = _loaded(load, f"kubeconfig {quote(files)}", remedy)
    _, active = config.list_kube_config_contexts(files)
    return ClientConfig(configuration, load, active["context"].get("namespace") or "default")


def _loaded(load: Callable[[Configuration], None], what: str, remedy: str) -> Configuration:
    configuration = Configuration()
    try:
        load(configuration)
    except Exception as error:
        # The loaders let through whatever they meet: broken YAML, a member that is missing, a plugin that failed.
        why = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise NotConfigured(f"{what}: {why}; {remedy}") from None
    return configuration
