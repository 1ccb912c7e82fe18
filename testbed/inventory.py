"""The simulated hardware of a test: Nodes, the ResourceSlices of their devices, and the drivers' DeviceClasses."""

from __future__ import annotations

import secrets

from testbed.api import Api
from testbed.devices import Device, DeviceClass, resource_slice
from testbed.nodes import create_node
from testbed.paths import path


class Inventory:
    """Publishes hardware and removes all of it in `clear`. `version` is the resource.k8s.io version to write."""

    def __init__(self, api: Api, version: str = "v1") -> None:
        self._api = api
        self._version = version
        self._created: list[str] = []

    def install(self, *device_classes: DeviceClass) -> None:
        """Creates DeviceClasses: those of a vendor (`*nvidia.CLASSES`) or a test's own."""
        for device_class in device_classes:
            self._api.create(device_class.manifest(self._version))
            self._created.append(self._path("DeviceClass", device_class.name))

    def node(
        self, *devices: Device, name: str | None = None, cpu: str = "64", memory: str = "512Gi", pods: int = 1000
    ) -> str:
        """Creates a Ready Node with these devices, one ResourceSlice per driver, and returns its name.

        The scheduler tries the devices of a driver in this order.
        """
        node = name or f"node-{secrets.token_hex(3)}"
        create_node(self._api, node, cpu=cpu, memory=memory, pods=pods)
        self._created.append(path("Node", None, node))
        by_driver: dict[str, list[Device]] = {}
        for device in devices:
            by_driver.setdefault(device.driver, []).append(device)
        for driver, group in by_driver.items():
            name = f"{node}-{driver}"
            self._api.create(resource_slice(name, driver, node, group, self._version))
            self._created.append(self._path("ResourceSlice", name))
        return node

    def withdraw(self, node: str, driver: str) -> None:
        """Deletes a driver's ResourceSlice of a node, as uninstalling the driver there does."""
        self._api.delete(self._path("ResourceSlice", f"{node}-{driver}"))

    def clear(self) -> None:
        """Deletes everything that was published, latest first. What a test has deleted itself is skipped."""
        while self._created:
            self._api.delete_if_exists(self._created.pop())

    def _path(self, kind: str, name: str) -> str:
        return path(kind, None, name, api_version=f"resource.k8s.io/{self._version}")
