"""Runs many small allocations on one scheduler: which devices of a node does each of these claims get?

Every trial has its own node, and affinity binds its pods to it. So trials do not affect each other, and an error that
aborts the scheduling of a pod shows in that pod alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

from testbed.api import Api, JsonObject
from testbed.claims import allocated
from testbed.devices import Device, DeviceClass
from testbed.inventory import Inventory
from testbed.namespaces import Namespace
from testbed.paths import path
from testbed.pods import pod
from testbed.waiting import wait_for

PENDING = "no device fits"
Outcome: TypeAlias = tuple[str, ...] | str
"""The names of the allocated devices in the order of the allocation, PENDING, or another message of the scheduler."""

_SENTINEL = DeviceClass("sentinel.test", "device.driver == 'sentinel.test'")


@dataclass(frozen=True)
class Trial:
    """A node with these `devices`, in this order, and a pod for each of the ResourceClaimSpecs `specs`."""

    name: str
    devices: Sequence[Device]
    specs: Sequence[JsonObject]


class Trials:
    """Runs trials on the control plane behind `api`. `version` is the resource.k8s.io version of the claims."""

    def __init__(self, api: Api, version: str = "v1") -> None:
        self.api = api
        self._hardware = Inventory(api)
        self._drivers = Inventory(api)
        self.namespace = Namespace(api, version=version)
        self._classes: set[str] = set()

    def install(self, classes: Iterable[DeviceClass]) -> None:
        """Creates those DeviceClasses that do not exist yet."""
        for each in classes:
            if each.name not in self._classes:
                self._classes.add(each.name)
                self._drivers.install(each)

    def node(self, *devices: Device, name: str | None = None) -> str:
        """Creates a node with these devices and returns its name."""
        return self._hardware.node(*devices, name=name)

    def run(self, trials: Sequence[Trial]) -> dict[str, list[Outcome]]:
        """The outcomes by trial name, in the order of the specs."""
        nodes = {each.name: f"node-{secrets.token_hex(5)}" for each in trials}
        pods: dict[str, list[str]] = {each.name: [] for each in trials}
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda each: self.node(*each.devices, name=nodes[each.name]), trials))
            self.settle()
            for turn in range(max(len(each.specs) for each in trials)):
                # All first claims, then all second ones: of two concurrent claims the scheduler may not know yet that
                # the first consumes only a part of a device.
                some = [each for each in trials if turn < len(each.specs)]
                names = list(pool.map(lambda each: self.create(each.specs[turn], nodes[each.name]), some))  # noqa: B023
                self.wait(names)
                for each, name in zip(some, names, strict=True):
                    pods[each.name].append(name)
        outcomes = self.outcomes()
        self.remove_devices()
        return {trial: [outcomes[name] for name in names] for trial, names in pods.items()}

    def create(self, spec: JsonObject, node: str | None = None, *, version: str | None = None) -> str:
        """Creates a claim and a pod that uses it, bound to `node` if given. Returns the name of both."""
        name = f"pod-{secrets.token_hex(5)}"
        group = f"resource.k8s.io/{version or self.namespace.version}"
        claim = {"apiVersion": group, "kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec}
        self.namespace.create(claim, fieldValidation="Strict")
        manifest = pod(name, claims={"modelfit": name})
        if node is not None:
            manifest["spec"]["affinity"] = _affinity(node)
        self.namespace.create(manifest)
        return name

    def wait(self, names: Sequence[str], *, timeout: float = 300) -> None:
        """Waits until the scheduler has tried each of these pods."""
        waiting = set(names)

        def untried() -> list[str]:
            pods = self.api.list(self.namespace.path("Pod"), fieldSelector="spec.nodeName=")
            return [each["metadata"]["name"] for each in pods if _result(each) is None]

        wait_for(
            "the scheduler has tried every pod",
            untried,
            lambda left: not waiting & set(left),
            timeout=timeout,
            every=0.5,
        )

    def outcomes(self) -> dict[str, Outcome]:
        """The outcome of every pod so far, by name."""
        devices = {claim["metadata"]["name"]: allocated(claim) for claim in self.namespace.claims()}
        found: dict[str, Outcome] = {}
        for each in self.namespace.pods():
            name, result = each["metadata"]["name"], _result(each)
            bound = tuple(item.device for item in devices[name])
            found[name] = bound if result == "bound" else result or "not tried"
        return found

    def create_in_turn(self, spec: JsonObject, node: str, count: int) -> list[str]:
        """Creates `count` claims that all fit, each after the previous one has its device. Returns their pods' names.

        With two concurrent claims the scheduler may treat a shared device as full, and retries only after minutes.
        """
        names = []
        for _ in range(count):
            names.append(self.create(spec, node))
            self.namespace.wait_bound(names[-1])
        return names

    def outcome(self, spec: JsonObject, node: str | None = None) -> Outcome:
        """The outcome of one claim."""
        name = self.create(spec, node)
        self.wait([name])
        return self.outcomes()[name]

    def claims(self, names: Collection[str]) -> list[JsonObject]:
        """The claims of these pods."""
        return [claim for claim in self.namespace.claims() if claim["metadata"]["name"] in names]

    def delete(self, name: str) -> None:
        """Deletes a pod and its claim."""
        self.namespace.delete_pod(name)
        self.api.delete(self.namespace.path("ResourceClaim", name))

    def settle(self) -> None:
        """Waits until the scheduler knows all hardware so far: its watch delivers each kind in order of creation."""
        self.install([_SENTINEL])
        node = self.node(Device("sentinel.test", "sentinel"))
        spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": _SENTINEL.name}}]}}
        name = self.create(spec, node, version="v1")
        self.namespace.wait_bound(name, timeout=120)
        self.delete(name)

    def remove_devices(self) -> None:
        """Deletes the ResourceSlices and the pending pods, which the scheduler would retry with every change.

        Bound pods stay: they have no effect any more, and deleting hundreds takes longer than creating them.
        """
        self.api.delete(self.namespace.path("Pod"), force=True, fieldSelector="spec.nodeName=")
        self.api.delete(path("ResourceSlice"))

    def clear(self) -> None:
        """Deletes what could affect another test; the rest goes with the control plane."""
        self.remove_devices()
        self._drivers.clear()


def _affinity(node: str) -> JsonObject:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _result(each: JsonObject) -> str | None:
    """`bound`, PENDING, another message of the scheduler, or None while it has not tried the pod."""
    if each["spec"].get("nodeName"):
        return "bound"
    for condition in each.get("status", {}).get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            message = condition.get("message", "")
            if condition["reason"] == "Unschedulable" and "cannot allocate all claims" in message:
                return PENDING
            return f"{condition['reason']}: {message}"
    return None
