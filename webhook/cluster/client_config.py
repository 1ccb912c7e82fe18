"""Address and credentials of the API server, from the service account or a kubeconfig.

The client's loaders read the files. Changes to their defaults: a rotated token is read again as soon as the API server
refuses the old one (the in-cluster loader re-reads once a minute, the kubeconfig loader never), a proxy from the
environment is not used for calls inside the cluster, and a kubeconfig that turns off the verification of the API
server is one warning in the log.
"""
# mypy: disable-error-code="no-untyped-call"
# The client claims to be typed, but many of its functions have no annotations.

import logging
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import urllib3
from kubernetes import config
from kubernetes.client import Configuration
from kubernetes.config import incluster_config

from webhook.errors import quote

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet mounts a pod's token, the cluster's CA and the pod's namespace."""


_log = logging.getLogger("modelfit.client")


class NotConfigured(Exception):
    """No usable configuration was found; the message names what was tried and what to do."""


class ClientConfig:
    """A client configuration whose credentials can be renewed, and its default `namespace`."""

    def __init__(self, configuration: Configuration, load: Callable[[Configuration], None], namespace: str) -> None:
        self.configuration = configuration
        self.namespace = namespace
        self._load = load
        self._lock = threading.Lock()

    def authorization(self) -> str | None:
        """The Authorization header, whose token the client re-reads once a minute; None with a client certificate."""
        header: str | None = self.configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        return header

    def renew(self, refused: str | None) -> bool:
        """Reads the credentials again, unless another thread has done so since the header `refused` was sent. Returns
        whether they differ from the refused ones, so that the call is worth repeating."""
        with self._lock:
            if self.authorization() == refused:
                fresh = Configuration()
                self._load(fresh)
                self.configuration.api_key = fresh.api_key
                self.configuration.refresh_api_key_hook = fresh.refresh_api_key_hook
            return self.authorization() != refused


def load(kubeconfig: Path | None, environ: Mapping[str, str] = os.environ) -> ClientConfig:
    """The given kubeconfig; else the service account, inside a cluster; else the kubeconfig that kubectl would use.
    Raises NotConfigured."""
    if kubeconfig is None and environ.get(incluster_config.SERVICE_HOST_ENV_NAME):
        return load_in_cluster(environ)
    default = environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    return load_kubeconfig(str(kubeconfig) if kubeconfig else default)


def load_in_cluster(environ: Mapping[str, str] = os.environ, folder: Path = SERVICE_ACCOUNT) -> ClientConfig:
    """The pod's service account; no proxy is used. Raises NotConfigured."""
    token, ca, namespace = folder / "token", folder / "ca.crt", folder / "namespace"

    def load_into(configuration: Configuration) -> None:
        incluster_config.InClusterConfigLoader(str(token), str(ca), environ=environ).load_and_set(configuration)

    hint = "mount it (automountServiceAccountToken: true)"
    configuration = _load_configuration(load_into, f"the service account in {folder}", hint)
    # Assigned after the host, whose setter reads the proxy from the environment. Calls inside the cluster go directly
    # to the API server; NO_PROXY rarely contains its address.
    configuration.proxy = None
    return ClientConfig(configuration, load_into, namespace.read_text().strip() if namespace.exists() else "default")


def load_kubeconfig(files: str) -> ClientConfig:
    """The current context of a kubeconfig, or of several joined by `:`. HTTPS_PROXY and NO_PROXY apply. Raises
    NotConfigured."""

    def load_into(configuration: Configuration) -> None:
        # Tokens from a credentials plugin are not written back to the file.
        config.load_kube_config(files, client_configuration=configuration, persist_config=False)

    hint = "name another with --kubeconfig, or run inside a cluster"
    configuration = _load_configuration(load_into, f"kubeconfig {quote(files)}", hint)
    _, active = config.list_kube_config_contexts(files)
    return ClientConfig(configuration, load_into, active["context"].get("namespace") or "default")


def _load_configuration(load_into: Callable[[Configuration], None], source: str, hint: str) -> Configuration:
    configuration = Configuration()
    try:
        load_into(configuration)
    except Exception as error:
        # The loaders do not wrap errors: invalid YAML, a missing key, a plugin that failed.
        cause = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise NotConfigured(f"{source}: {cause}; {hint}") from None
    if not configuration.verify_ssl:
        fields = {"server": configuration.host, "source": source}
        _log.warning(
            "the API server's certificate is not verified (insecure-skip-tls-verify)", extra={"fields": fields}
        )
        # urllib3 would print a warning for every call.
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return configuration
