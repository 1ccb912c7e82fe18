"""Runs gunicorn, configured in code. It reads no configuration file and writes nothing but files in shared memory."""

import gc
import logging
import os
import resource
import shutil
import signal
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger

from webhook.errors import ModelfitError, quote
from webhook.server.limits import REQUEST_SECONDS, RESPONSE_SECONDS, STOP_SIGNALS
from webhook.settings import Settings

_log = logging.getLogger("modelfit.server")

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108
"""In memory, and writable in a container with a read-only root file system."""

_RESERVED_DESCRIPTORS = 128
"""File descriptors for everything but connections."""

_GC_THRESHOLD = 50_000
"""Allocations minus deallocations between two garbage collections."""


class CannotServe(ModelfitError):
    """The address or the certificate cannot be used."""


@dataclass
class Readiness:
    """The state that /readyz reports. Each worker has its own."""

    draining: bool = False


class GunicornLogger(Logger):  # type: ignore[misc]
    """Sends gunicorn's messages to this process's logging. Its info messages become debug messages: `Server` logs
    start and stop itself."""

    def setup(self, cfg: Any) -> None:
        """Replaces gunicorn's log handlers."""
        self.cfg = cfg
        self.error_log = logging.getLogger("modelfit.gunicorn")
        self._access_log_enabled = False

    def info(self, msg: str, *args: object, **kwargs: Any) -> None:
        """Logs at debug level."""
        self.error_log.debug(msg, *args, **kwargs)


class SignalSafeArbiter(Arbiter):  # type: ignore[misc]
    """gunicorn's parent process, with a fork that loses no signal."""

    def spawn_worker(self) -> Any:
        """Forks a worker with the stop signals blocked; `Worker.run` unblocks them. Until then the worker has the
        parent's signal handlers, which would swallow a stop signal."""
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        try:
            return super().spawn_worker()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


@dataclass(frozen=True)
class CertificateFiles:
    """PEM files: the serving certificate, its key, and the CA of the clients that may send reviews (None: anyone may).
    `client_names`: names of which a client's certificate must have one; empty: any name."""

    certificate: Path
    key: Path
    client_ca: Path | None = None
    client_names: tuple[str, ...] = ()


class Server(BaseApplication):  # type: ignore[misc]
    """The webhook server. `run` exits the process, in the parent and in each worker."""

    def __init__(self, settings: Settings, workers: int, listener: socket.socket, files: CertificateFiles) -> None:
        """Loads the certificate. Raises CannotServe."""
        self.readiness = Readiness()
        self.drain_seconds = settings.drain_seconds
        self._settings = settings
        self._workers = workers
        self._client_names = files.client_names if files.client_ca else None
        self._address = listener.getsockname()[:2]
        # gunicorn takes over the descriptor.
        self._descriptor = listener.detach()
        self._writable_folder = _find_writable_folder()
        self._metrics_folder = _create_metrics_folder(self._writable_folder) if workers > 1 else None
        # Imports the metrics, which read PROMETHEUS_MULTIPROC_DIR when they are imported.
        from webhook.server.serving_certificate import ServingCertificate, UnusableKeyPair

        try:
            self.certificate = ServingCertificate(files.certificate, files.key, files.client_ca)
        except UnusableKeyPair as error:
            self._remove_metrics_folder()
            flags = f"--cert {quote(files.certificate)} --key {quote(files.key)}"
            if files.client_ca:
                flags += f" --client-ca-file {quote(files.client_ca)}"
            raise CannotServe(f"{flags}: {error}; want a certificate chain and its private key, PEM") from None
        super().__init__()

    def run(self) -> None:
        """Serves until it is stopped."""
        SignalSafeArbiter(self).run()

    def load_config(self) -> None:
        """Sets gunicorn's settings. gunicorn's environment variables and configuration files are not read."""
        connections = _raise_descriptor_limit(self._settings.max_connections)
        options = {
            "bind": f"fd://{self._descriptor}",
            "workers": self._workers,
            "worker_class": "webhook.server.worker.Worker",
            "worker_connections": connections,
            "worker_tmp_dir": self._writable_folder,
            "keepalive": self._settings.keep_alive_seconds,
            "graceful_timeout": int(self.drain_seconds + REQUEST_SECONDS + RESPONSE_SECONDS) + 5,
            "logger_class": GunicornLogger,
            "control_socket_disable": True,
            "preload_app": True,
            "proc_name": "modelfit",
            # No header is trusted, so no peer can pose as a proxy and gunicorn need not compare addresses.
            "forwarded_allow_ips": "*",
            "secure_scheme_headers": {},
            "forwarder_headers": "",
            "when_ready": self._when_ready,
            "on_exit": lambda _: self._on_exit(),
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """The WSGI application."""
        from webhook.server.app import create_app

        settings = self._settings
        return create_app(
            settings.admission_config(),
            settings.max_review_mebibytes << 20,
            lambda: not self.readiness.draining,
            self._client_names,
        )

    def _when_ready(self, _: object) -> None:
        # Loaded objects are permanent. Collecting them in a worker would unshare the pages they are on.
        gc.collect()
        gc.freeze()
        # A review is a tree of a thousand objects without cycles, freed after the response. With the default
        # threshold of 700, collections add a tenth to the cost of a review.
        gc.set_threshold(_GC_THRESHOLD)
        host, port = self._address
        _log.info("serving", extra={"fields": {"host": host, "port": port, "workers": self._workers}})

    def _on_exit(self) -> None:
        self._remove_metrics_folder()
        _log.info("stopped")

    def _remove_metrics_folder(self) -> None:
        if self._metrics_folder is not None:
            shutil.rmtree(self._metrics_folder, ignore_errors=True)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; `::` accepts IPv4 too. Raises CannotServe."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(address)
        listener.listen(1024)
    except OSError as error:
        expected = "want an address of this machine, and a port that is free"
        raise CannotServe(f"--host {quote(host)} --port {port}: {error.strerror or error}; {expected}") from None
    return listener


def _find_writable_folder() -> str:
    """A writable folder, in memory if possible. Raises CannotServe."""
    if os.access(_SHARED_MEMORY, os.W_OK):
        return str(_SHARED_MEMORY)
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        raise CannotServe(f"no writable folder; want {_SHARED_MEMORY} or TMPDIR writable, e.g. an emptyDir") from None


def _create_metrics_folder(parent: str) -> str:
    """Creates the folder in which several workers add up their metrics. Call this before the metrics are imported."""
    prefix = f"modelfit-{os.getpid()}-"
    # Left by a killed process with this process id. In a container the id is always 1, and a pod's containers keep
    # their shared memory when they restart.
    for leftover in Path(parent).glob(f"{prefix}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=prefix, dir=parent)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
    return folder


def _raise_descriptor_limit(connections: int) -> int:
    """Raises the process's limit on open files for this many connections. Returns how many are possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    required = connections + _RESERVED_DESCRIPTORS
    if soft < required:
        soft = required if hard == resource.RLIM_INFINITY else min(required, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(1, min(connections, soft - _RESERVED_DESCRIPTORS))
