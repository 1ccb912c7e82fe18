"""Many small questions to one scheduler: on a node with these devices, which does each of these claims get?

Every trial has a node of its own and its pods are bound to it by affinity, so that they do not disturb each other and
one that stops the scheduler's work on a pod shows in that pod alone.
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
"""The names of the allocated devices, in the order of the allocation; PENDING; or what else the scheduler says."""

_SENTINEL = DeviceClass("sentinel.test", "device.driver == 'sentinel.test'")


@dataclass(frozen=True)
class Trial:
    """`specs` are ResourceClaimSpecs, each for a pod of its own; `devices` are those of the node, in this order."""

    name: str
    devices: Sequence[Device]
    specs: Sequence[JsonObject]


class Trials:
    """Runs trials on the control plane behind `api`. `version` is that of resource.k8s.io for the claims."""

    def __init__(self, api: Api, version: str = "v1") -> None:
        self.api = api
        self._hardware = Inventory(api)
        self._drivers = Inventory(api)
        self.namespace = Namespace(api, version=version)
        self._classes: set[str] = set()

    def install(self, classes: Iterable[DeviceClass]) -> None:
        """DeviceClasses that are not there yet."""
        for each in classes:
            if each.name not in self._classes:
                self._classes.add(each.name)
                self._drivers.device_class(each)

    def node(self, *devices: Device, name: str | None = None) -> str:
        """A node with these devices; its name."""
        return self._hardware.node(*devices, name=name)

    def run(self, trials: Sequence[Trial]) -> dict[str, list[Outcome]]:
        """The outcomes by the trials' names, in the order of their specs."""
        nodes = {each.name: f"node-{secrets.token_hex(5)}" for each in trials}
        asked: dict[str, list[str]] = {each.name: [] for each in trials}
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda each: self.node(*each.devices, name=nodes[each.name]), trials))
            self.settle()
            for turn in range(max(len(each.specs) for each in trials)):
                # All first claims, then all second ones: of two at once the scheduler may not see yet that the first
                # takes only a part.
                some = [each for each in trials if turn < len(each.specs)]
                names = list(pool.map(lambda each: self.ask(each.specs[turn], nodes[each.name]), some))  # noqa: B023
                self.wait(names)
                for each, name in zip(some, names, strict=True):
                    asked[each.name].append(name)
        outcomes = self.outcomes()
        self.retire()
        return {trial: [outcomes[name] for name in names] for trial, names in asked.items()}

    def ask(self, spec: JsonObject, node: str | None = None, *, version: str | None = None) -> str:
        """Creates a claim and a pod for it, on that node only if named; the name of both."""
        name = f"pod-{secrets.token_hex(5)}"
        group = f"resource.k8s.io/{version or self.namespace.version}"
        claim = {"apiVersion": group, "kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec}
        self.namespace.create(claim, fieldValidation="Strict")
        manifest = pod(name, claims={"modelfit": name})
        if node is not None:
            manifest["spec"]["affinity"] = _only(node)
        self.namespace.create(manifest)
        return name

    def wait(self, names: Sequence[str], *, timeout: float = 300) -> None:
        """Waits until the scheduler has an answer for each of these pods."""
        wanted = set(names)

        def unanswered() -> list[str]:
            pods = self.api.list(self.namespace.path("Pod"), fieldSelector="spec.nodeName=")
            return [each["metadata"]["name"] for each in pods if _answer(each) is None]

        wait_for(
            "the scheduler has tried every pod",
            unanswered,
            lambda left: not wanted & set(left),
            timeout=timeout,
            every=0.5,
        )

    def outcomes(self) -> dict[str, Outcome]:
        """What became of every pod so far, by name."""
        devices = {claim["metadata"]["name"]: allocated(claim) for claim in self.namespace.claims()}
        found: dict[str, Outcome] = {}
        for each in self.namespace.pods():
            name, answer = each["metadata"]["name"], _answer(each)
            bound = tuple(item.device for item in devices[name])
            found[name] = bound if answer == "bound" else answer or "not tried"
        return found

    def ask_in_turn(self, spec: JsonObject, node: str, count: int) -> list[str]:
        """Asks for this many claims that all fit, each when the one before has its device; their pods' names. Of two at
        once the scheduler may take a shared device for a full one, and tries the second again only after minutes."""
        names = []
        for _ in range(count):
            names.append(self.ask(spec, node))
            self.namespace.wait_bound(names[-1])
        return names

    def outcome(self, spec: JsonObject, node: str | None = None) -> Outcome:
        """Asks, waits and answers for one claim."""
        name = self.ask(spec, node)
        self.wait([name])
        return self.outcomes()[name]

    def claims(self, names: Collection[str]) -> list[JsonObject]:
        """The claims of these pods."""
        return [claim for claim in self.namespace.claims() if claim["metadata"]["name"] in names]

    def finish(self, name: str) -> None:
        """Ends a pod and takes its claim away."""
        self.namespace.delete_pod(name)
        self.api.delete(self.namespace.path("ResourceClaim", name))

    def settle(self) -> None:
        """Waits until the scheduler knows of all hardware so far: it hears of each kind in the order of creation."""
        self.install([_SENTINEL])
        node = self.node(Device("sentinel.test", "sentinel"))
        spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": _SENTINEL.name}}]}}
        name = self.ask(spec, node, version="v1")
        self.namespace.wait_bound(name, timeout=120)
        self.namespace.delete_pod(name)

    def retire(self) -> None:
        """Takes the devices away, and the pods that got none, which the scheduler would try again with every change.
        Pods that hold devices have no effect any more; to take hundreds of them away takes longer than to make them."""
        self.api.delete(self.namespace.path("Pod"), force=True, fieldSelector="spec.nodeName=")
        self.api.delete(path("ResourceSlice"))

    def clear(self) -> None:
        """Takes away all that another run could meet; the rest goes with the control plane."""
        self.retire()
        self._drivers.clear()


def _only(node: str) -> JsonObject:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _answer(each: JsonObject) -> str | None:
    """`bound`, PENDING, another answer of the scheduler, or None while it has not tried."""
    if each["spec"].get("nodeName"):
        return "bound"
    for condition in each.get("status", {}).get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            message = condition.get("message", "")
            if condition["reason"] == "Unschedulable" and "cannot allocate all claims" in message:
                return PENDING
            return f"{condition['reason']}: {message}"
    return None
