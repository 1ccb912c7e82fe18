"""gunicorn, set up in code: no configuration file, and nothing written but what workers share in memory."""

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
from webhook.server import serving_certificate
from webhook.server.limits import ANSWER_SECONDS, REQUEST_SECONDS, STOP_SIGNALS
from webhook.settings import Settings

_log = logging.getLogger("modelfit.server")

_MEMORY = Path("/dev/shm")  # noqa: S108
"""Where heartbeats and shared metrics cost no disk; a container with a read-only root has it too."""

_SPARE_DESCRIPTORS = 128
"""Files that are no connections."""


class CannotServe(ModelfitError):
    """The address or the certificate cannot be used."""


@dataclass
class Readiness:
    """What /readyz says; each worker has its own."""

    draining: bool = False


_COLLECT_EVERY = 50_000
"""Objects, net, between two looks for cycles."""


class Log(Logger):  # type: ignore[misc]
    """gunicorn's own messages, through this process's logging. What it tells of every start and stop is for debugging:
    the two lines that matter are said here."""

    def setup(self, cfg: Any) -> None:
        self.cfg = cfg
        self.error_log = logging.getLogger("modelfit.gunicorn")
        self._access_log_enabled = False

    def info(self, msg: str, *args: object, **kwargs: Any) -> None:
        self.error_log.debug(msg, *args, **kwargs)


class Parent(Arbiter):  # type: ignore[misc]
    """gunicorn's parent process."""

    def spawn_worker(self) -> Any:
        """Forks a worker, with the signals that stop it held back until it can take them (`Worker.run`). A new worker
        has the parent's handlers for a moment, which would swallow them: it would never learn that it is to stop."""
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        try:
            return super().spawn_worker()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


class Server(BaseApplication):  # type: ignore[misc]
    """The webhook server. `run` does not return: it exits the process, in the parent and in each worker."""

    def __init__(
        self, settings: Settings, workers: int, listener: socket.socket, certificate: tuple[Path, Path]
    ) -> None:
        """Loads the certificate. Raises CannotServe."""
        self.readiness = Readiness()
        self.drain_seconds = settings.drain_seconds
        self._settings = settings
        self._workers = workers
        self._address = listener.getsockname()[:2]
        # gunicorn takes it over by number.
        self._descriptor = listener.detach()
        self._scratch = _scratch()
        self._folder = _share_metrics(self._scratch) if workers > 1 else None

        try:
            self.certificate = serving_certificate.ServingCertificate(*certificate)
        except serving_certificate.UnusablePair as error:
            self._remove_folder()
            where = f"--cert {quote(certificate[0])} --key {quote(certificate[1])}"
            raise CannotServe(f"{where}: {error}; want a certificate chain and its private key, PEM") from None
        super().__init__()

    def run(self) -> None:
        """Serves until it is stopped."""
        Parent(self).run()

    def load_config(self) -> None:
        """gunicorn's settings. Of its environment variables and files none is read."""
        connections = _allow_descriptors(self._settings.max_connections)
        options = {
            "bind": f"fd://{self._descriptor}",
            "workers": self._workers,
            "worker_class": "webhook.server.worker.Worker",
            "worker_connections": connections,
            "worker_tmp_dir": self._scratch,
            "keepalive": self._settings.keep_alive_seconds,
            "graceful_timeout": int(self.drain_seconds + REQUEST_SECONDS + ANSWER_SECONDS) + 5,
            "logger_class": Log,
            "control_socket_disable": True,
            "preload_app": True,
            "proc_name": "modelfit",
            # No peer is a proxy that may speak for another; with no header to trust, nobody's address need be read.
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
            settings.admission_config(), settings.max_review_mebibytes << 20, lambda: not self.readiness.draining
        )

    def _when_ready(self, _: object) -> None:
        # What is there now stays; counting it again in every worker would unshare its pages.
        gc.collect()
        gc.freeze()
        # A review is a tree of a thousand objects without a cycle, gone with its answer. Looked through for cycles
        # every 700 objects, as is the default, it costs a tenth more.
        gc.set_threshold(_COLLECT_EVERY)
        host, port = self._address
        _log.info("serving", extra={"fields": {"host": host, "port": port, "workers": self._workers}})

    def _on_exit(self) -> None:
        self._remove_folder()
        _log.info("stopped")

    def _remove_folder(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; `::` takes IPv4 too. Raises CannotServe."""
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
        wanted = "want an address of this machine, and a port that is free"
        raise CannotServe(f"--host {quote(host)} --port {port}: {error.strerror or error}; {wanted}") from None
    return listener


def _scratch() -> str:
    """A folder to write in, in memory if possible. Raises CannotServe."""
    if os.access(_MEMORY, os.W_OK):
        return str(_MEMORY)
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        raise CannotServe(f"no folder to write in; want {_MEMORY} or TMPDIR writable, an emptyDir will do") from None


def _share_metrics(scratch: str) -> str:
    """A folder in which several workers add up their metrics. Must be named before the metrics are imported."""
    prefix = f"modelfit-{os.getpid()}-"
    # A process of our number that was killed: in a container it is number 1 every time, and the memory is its pod's.
    for leftover in Path(scratch).glob(f"{prefix}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=prefix, dir=scratch)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
    return folder


def _allow_descriptors(connections: int) -> int:
    """Raises this process's limit on open files as far as `connections` need it; how many there can be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _SPARE_DESCRIPTORS
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(1, min(connections, soft - _SPARE_DESCRIPTORS))
