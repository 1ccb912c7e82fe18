"""The hardware that a test plays: Nodes, the devices on them, and the DeviceClasses of their drivers."""

from __future__ import annotations

import secrets

from testbed.api import Api
from testbed.devices import Device, DeviceClass, resource_slice
from testbed.nodes import create_node
from testbed.paths import path
from tests.cluster.drivers import CLASSES


class Inventory:
    """Publishes hardware and takes it all away again in `clear`. `version` is that of resource.k8s.io to speak."""

    def __init__(self, api: Api, version: str = "v1") -> None:
        self._api = api
        self._version = version
        self._made: list[str] = []

    def install(self, *drivers: str) -> None:
        """The DeviceClasses of these drivers, by the short names of `drivers.CLASSES`, as their charts ship them."""
        for driver in drivers:
            for device_class in CLASSES[driver]:
                self.device_class(device_class)

    def device_class(self, device_class: DeviceClass) -> None:
        """One DeviceClass, a driver's or a test's own."""
        self._api.create(device_class.manifest(self._version))
        self._made.append(self._path("DeviceClass", device_class.name))

    def node(
        self, *devices: Device, name: str | None = None, cpu: str = "64", memory: str = "512Gi", pods: int = 1000
    ) -> str:
        """A Ready Node with these devices, of any drivers; devices are tried in this order. Its name."""
        node = name or f"node-{secrets.token_hex(3)}"
        create_node(self._api, node, cpu=cpu, memory=memory, pods=pods)
        self._made.append(path("Node", None, node))
        by_driver: dict[str, list[Device]] = {}
        for device in devices:
            by_driver.setdefault(device.driver, []).append(device)
        for driver, its in by_driver.items():
            name = f"{node}-{driver}"
            self._api.create(resource_slice(name, driver, node, its, self._version))
            self._made.append(self._path("ResourceSlice", name))
        return node

    def withdraw(self, node: str, driver: str) -> None:
        """Takes a driver's devices away from a node, as if the driver were uninstalled there."""
        self._api.delete(self._path("ResourceSlice", f"{node}-{driver}"))

    def clear(self) -> None:
        """Takes away all that was published, latest first; what a test removed itself may be gone."""
        while self._made:
            self._api.delete_if_there(self._made.pop())

    def _path(self, kind: str, name: str) -> str:
        return path(kind, None, name, api_version=f"resource.k8s.io/{self._version}")
