"""The proxy through which the API server reaches Services without a kube-proxy.

An EgressSelectorConfiguration sends all traffic to the cluster's network, webhook calls included, as CONNECT to a Unix
socket. The proxy finds the Service by its cluster IP and a ready pod by its EndpointSlices.
"""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

from testbed.api import Api, ApiError, JsonObject

STALE_SECONDS = 1.0
"""For how long endpoints are cached: kube-proxy needs a moment for an update, too."""

Locate = Callable[[str], str | None]
"""Maps a pod IP to the loopback address on which the pod listens."""


class ServiceProxy:
    """Listens on a socket in `folder` at once, and answers after `serve` was called."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "egress.sock"
        self.configuration = folder / "egress.yaml"
        """For --egress-selector-config-file."""
        connection = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": str(self._path)}}}
        self.configuration.write_text(
            json.dumps(
                {
                    "apiVersion": "apiserver.k8s.io/v1beta1",
                    "kind": "EgressSelectorConfiguration",
                    "egressSelections": [{"name": "cluster", "connection": connection}],
                }
            )
        )
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(self._path))
        self._socket.listen(128)
        self._cache: dict[tuple[str, int], tuple[float, list[tuple[str, int]]]] = {}

    def serve(self, api: Api, locate: Locate) -> None:
        self._api, self._locate = api, locate
        threading.Thread(target=self._accept, daemon=True, name="service proxy").start()

    def close(self) -> None:
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._handle, args=(client,), daemon=True).start()

    def _handle(self, client: socket.socket) -> None:
        with client:
            target = client.recv(4096).split(b" ")[1].decode()
            host, _, port = target.rpartition(":")
            server = self._connect(host, int(port))
            if server is None:
                client.sendall(b"HTTP/1.1 502 no endpoint\r\n\r\n")
                return
            with server:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                back.start()
                _pump(client, server)
                back.join()

    def _connect(self, address: str, port: int) -> socket.socket | None:
        endpoints = self._endpoints(address, port)
        for endpoint in random.sample(endpoints, k=len(endpoints))[:1]:
            try:
                return socket.create_connection(endpoint, timeout=5)
            except OSError:
                return None
        return None

    def _endpoints(self, address: str, port: int) -> list[tuple[str, int]]:
        at, found = self._cache.get((address, port), (0.0, []))
        if not found or time.monotonic() - at > STALE_SECONDS:
            try:
                found = self._lookup(address, port)
            except ApiError:
                return found
            self._cache[address, port] = (time.monotonic(), found)
        return found

    def _lookup(self, address: str, port: int) -> list[tuple[str, int]]:
        for service in self._api.list("/api/v1/services"):
            if service["spec"].get("clusterIP") == address:
                named = next(each.get("name") for each in service["spec"]["ports"] if each["port"] == port)
                return self._ready(service["metadata"], named)
        return []

    def _ready(self, service: JsonObject, port_name: str | None) -> list[tuple[str, int]]:
        where = f"/apis/discovery.k8s.io/v1/namespaces/{service['namespace']}/endpointslices"
        found = []
        for each in self._api.list(where, labelSelector=f"kubernetes.io/service-name={service['name']}"):
            port = next((port["port"] for port in each["ports"] or [] if port["name"] == (port_name or "")), None)
            for endpoint in each["endpoints"] or []:
                local = self._locate(endpoint["addresses"][0])
                if port and local and endpoint["conditions"].get("ready"):
                    found.append((local, int(port)))
        return found


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        source.settimeout(None)
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # One side has closed: close the other one.
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
